-- Version 1. JSON is text, times are milliseconds since 1970 (UTC). Names are
-- compared byte by byte.

-- The catalogue. What only an open session needs stands in session_state.
CREATE TABLE session (
    uri          text COLLATE "C" PRIMARY KEY,
    provider     text NOT NULL,
    title        text NOT NULL,
    status       bigint NOT NULL,
    created_at   bigint,
    modified_at  bigint NOT NULL,
    disposed_at  bigint,
    disposed_day bigint,
    summary      text NOT NULL,
    facts        text
);
CREATE INDEX session_disposed ON session (disposed_at) WHERE disposed_at IS NOT NULL;

CREATE TABLE session_state (
    uri   text COLLATE "C" PRIMARY KEY,
    state text NOT NULL,
    notes text NOT NULL
);

-- `id` is the order of creation; `active_turn` is the id of the running turn.
CREATE TABLE chat (
    id          bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    uri         text COLLATE "C" PRIMARY KEY,
    session     text COLLATE "C" NOT NULL,
    is_default  boolean NOT NULL,
    title       text NOT NULL,
    status      bigint NOT NULL,
    modified_at bigint NOT NULL,
    active_turn text,
    seq         bigint NOT NULL,
    head        text NOT NULL,
    notes       text NOT NULL
);
CREATE INDEX chat_of_session ON chat (session);
CREATE INDEX chat_not_default ON chat (uri, session) WHERE NOT is_default;
CREATE INDEX chat_running ON chat (session) WHERE active_turn IS NOT NULL;

CREATE TABLE turn (
    chat  text COLLATE "C" NOT NULL,
    place bigint NOT NULL,
    id    text NOT NULL,
    json  text NOT NULL,
    PRIMARY KEY (chat, place)
);

-- `excerpt` is UTF-8 with any characters, which a text cannot have here.
CREATE TABLE content (
    uri          text COLLATE "C" PRIMARY KEY,
    session      text COLLATE "C" NOT NULL,
    content_type text NOT NULL,
    data         bytea NOT NULL,
    excerpt      bytea
);
CREATE INDEX content_of_session ON content (session);

-- A copied session refers to the contents of the one it was copied from: they
-- live as long as one of both does.
CREATE TABLE content_share (
    content text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    PRIMARY KEY (content, session)
);
CREATE INDEX content_share_of_session ON content_share (session);

-- `cuts` is [[seq, length], ...]; origin, facts and cuts are NULL if empty.
CREATE TABLE log (
    last    bigint PRIMARY KEY,
    first   bigint NOT NULL,
    channel text COLLATE "C" NOT NULL,
    action  text NOT NULL,
    origin  text,
    facts   text,
    cuts    text
);
CREATE INDEX log_of_channel ON log (channel, last);

CREATE TABLE client (
    client_id text COLLATE "C" PRIMARY KEY,
    version   text NOT NULL,
    seen_at   bigint NOT NULL
);

CREATE TABLE setting (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);

-- One row: where the sequence of actions stands.
CREATE TABLE sequence (
    only_row   smallint PRIMARY KEY CHECK (only_row = 1),
    reserved   bigint NOT NULL,
    last       bigint NOT NULL,
    life_first bigint NOT NULL,
    log_start  bigint NOT NULL
);
INSERT INTO sequence VALUES (1, 0, 0, 1, 1);

CREATE TABLE epoch (
    first bigint PRIMARY KEY,
    last  bigint NOT NULL
);

-- One row: `day` counts the days in which a host ran, and `since` is when the
-- present one began by the machine's clock (NULL: never).
CREATE TABLE host_days (
    only_row smallint PRIMARY KEY CHECK (only_row = 1),
    day      bigint NOT NULL,
    since    bigint
);
INSERT INTO host_days VALUES (1, 0, NULL);

-- What was written about files in a session, in the order in which it was
-- first written.
CREATE TABLE annotation (
    place   bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    session text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL,
    json    text NOT NULL,
    PRIMARY KEY (session, id)
);

-- Automations, and their runs, in the order in which they were created.
CREATE TABLE automation (
    place bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    uri   text COLLATE "C" PRIMARY KEY,
    json  text NOT NULL,
    notes text NOT NULL
);
CREATE TABLE automation_run (
    place      bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    uri        text COLLATE "C" PRIMARY KEY,
    automation text COLLATE "C" NOT NULL,
    json       text NOT NULL,
    notes      text NOT NULL
);
CREATE INDEX run_of_automation ON automation_run (automation);
