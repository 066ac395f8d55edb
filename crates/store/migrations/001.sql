-- Version 1. JSON is TEXT, times are INTEGER milliseconds since 1970 (UTC).

-- The catalogue. What only an open session needs stands in session_state, so
-- that listing all of them reads few pages.
CREATE TABLE session (
    uri         TEXT PRIMARY KEY NOT NULL,
    provider    TEXT NOT NULL,
    title       TEXT NOT NULL,
    status      INTEGER NOT NULL,
    created_at  INTEGER,
    modified_at INTEGER NOT NULL,
    disposed_at INTEGER,
    summary     TEXT NOT NULL
);
CREATE INDEX session_disposed ON session (disposed_at) WHERE disposed_at IS NOT NULL;

CREATE TABLE session_state (
    uri   TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL,
    notes TEXT NOT NULL
);

-- `id` is the order of creation; `active_turn` is the id of the running turn.
CREATE TABLE chat (
    id          INTEGER PRIMARY KEY,
    uri         TEXT NOT NULL UNIQUE,
    session     TEXT NOT NULL,
    is_default  INTEGER NOT NULL,
    title       TEXT NOT NULL,
    status      INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    active_turn TEXT,
    seq         INTEGER NOT NULL,
    head        TEXT NOT NULL,
    notes       TEXT NOT NULL
);
CREATE INDEX chat_of_session ON chat (session);
CREATE INDEX chat_not_default ON chat (uri, session) WHERE is_default = 0;
CREATE INDEX chat_running ON chat (session) WHERE active_turn IS NOT NULL;

CREATE TABLE turn (
    chat  TEXT NOT NULL,
    place INTEGER NOT NULL,
    id    TEXT NOT NULL,
    json  TEXT NOT NULL,
    PRIMARY KEY (chat, place)
);

CREATE TABLE content (
    uri          TEXT PRIMARY KEY NOT NULL,
    session      TEXT NOT NULL,
    content_type TEXT NOT NULL,
    data         BLOB NOT NULL
);
CREATE INDEX content_of_session ON content (session);

-- `cuts` is [[seq, length], ...]; origin, facts and cuts are NULL if empty.
CREATE TABLE log (
    last    INTEGER PRIMARY KEY,
    first   INTEGER NOT NULL,
    channel TEXT NOT NULL,
    action  TEXT NOT NULL,
    origin  TEXT,
    facts   TEXT,
    cuts    TEXT
);
CREATE INDEX log_of_channel ON log (channel, last);

CREATE TABLE client (
    client_id TEXT PRIMARY KEY NOT NULL,
    version   TEXT NOT NULL,
    seen_at   INTEGER NOT NULL
);

CREATE TABLE setting (
    name  TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
);

-- One row: where the sequence of actions stands.
CREATE TABLE sequence (
    only       INTEGER PRIMARY KEY CHECK (only = 1),
    reserved   INTEGER NOT NULL,
    last       INTEGER NOT NULL,
    life_first INTEGER NOT NULL,
    log_start  INTEGER NOT NULL
);
INSERT INTO sequence VALUES (1, 0, 0, 1, 1);

CREATE TABLE epoch (
    first INTEGER PRIMARY KEY,
    last  INTEGER NOT NULL
);
