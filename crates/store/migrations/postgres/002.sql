-- Version 2. Searching, and what turns have cost.

-- The words of each turn and of the title of each chat (place -1); the texts
-- themselves are read from where they stand. Each word begins with a letter
-- for the kind of text that it stands in. `at` is when the turn began.
CREATE TABLE search (
    chat  bigint NOT NULL,
    place bigint NOT NULL,
    at    bigint,
    words tsvector NOT NULL,
    PRIMARY KEY (chat, place)
);
CREATE INDEX search_words ON search USING gin (words);

-- Chats whose rows are out of date: their title, and their turns from this
-- place on. Whatever changes one of them says so here, and nothing else does.
CREATE TABLE search_due (
    chat  bigint PRIMARY KEY,
    place bigint NOT NULL
);

CREATE FUNCTION search_turns_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_due
        SELECT chat.id, min(changed.place) FROM changed JOIN chat ON chat.uri = changed.chat
        GROUP BY chat.id ORDER BY chat.id
    ON CONFLICT (chat) DO UPDATE SET place = least(search_due.place, excluded.place);
    RETURN NULL;
END $$;
CREATE TRIGGER search_turn_inserted AFTER INSERT ON turn
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION search_turns_changed();
CREATE TRIGGER search_turn_updated AFTER UPDATE ON turn
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION search_turns_changed();
CREATE TRIGGER search_turn_deleted AFTER DELETE ON turn
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION search_turns_changed();

CREATE FUNCTION search_chat_came_or_went() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_due
        VALUES (CASE TG_OP WHEN 'DELETE' THEN old.id ELSE new.id END, 0)
    ON CONFLICT (chat) DO UPDATE SET place = 0;
    RETURN NULL;
END $$;
CREATE TRIGGER search_chat_inserted AFTER INSERT ON chat
    FOR EACH ROW EXECUTE FUNCTION search_chat_came_or_went();
CREATE TRIGGER search_chat_deleted AFTER DELETE ON chat
    FOR EACH ROW EXECUTE FUNCTION search_chat_came_or_went();

-- No turn has this place.
CREATE FUNCTION search_chat_titled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_due VALUES (new.id, 9223372036854775807) ON CONFLICT (chat) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER search_chat_titled AFTER UPDATE ON chat
    FOR EACH ROW WHEN (old.title <> new.title) EXECUTE FUNCTION search_chat_titled();

CREATE FUNCTION search_session_titled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_due
        SELECT id, 9223372036854775807 FROM chat WHERE session = new.uri AND is_default
    ON CONFLICT (chat) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER search_session_titled AFTER UPDATE ON session
    FOR EACH ROW WHEN (old.title <> new.title) EXECUTE FUNCTION search_session_titled();

CREATE FUNCTION search_session_disposed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_due SELECT id, 0 FROM chat WHERE session = new.uri
    ON CONFLICT (chat) DO UPDATE SET place = 0;
    RETURN NULL;
END $$;
CREATE TRIGGER search_session_disposed AFTER UPDATE ON session
    FOR EACH ROW WHEN ((old.disposed_at IS NULL) <> (new.disposed_at IS NULL))
    EXECUTE FUNCTION search_session_disposed();

-- What was stored before is put into the index bit by bit.
INSERT INTO search_due SELECT id, 0 FROM chat;

-- What each turn has used, as far as agents say. A row stays when its turn is
-- cut off or its session is deleted, as it was paid for; a copy of a turn is
-- the same turn.
CREATE TABLE usage (
    turn     text COLLATE "C" NOT NULL,
    at       bigint NOT NULL,
    session  text COLLATE "C",
    provider text COLLATE "C" NOT NULL,
    model    text COLLATE "C",
    input    bigint NOT NULL,
    output   bigint NOT NULL,
    cached   bigint NOT NULL,
    cost     double precision,
    currency text COLLATE "C",
    PRIMARY KEY (at, turn)
);
CREATE INDEX usage_of_session ON usage (session) WHERE session IS NOT NULL;
