-- Version 7. Searching, and what turns have cost.

-- From here on, the title of a chat besides the default one is what its session
-- lists it as.
UPDATE chat SET title = listed.title
FROM (SELECT json_extract(value, '$.resource') AS uri, json_extract(value, '$.title') AS title
      FROM session, json_each(iif(json_valid(summary), summary, '{}'), '$.chats')) AS listed
WHERE chat.uri = listed.uri AND NOT is_default AND listed.title IS NOT NULL;

-- The words of each turn and of the title of each chat; the texts themselves
-- are read from where they stand. A row is called by the chat's id, shifted by
-- 24 bits, and the place of the turn plus 1; the title by the chat's id alone.
-- The words come folded, so all that is left to do is to split at spaces.
CREATE VIRTUAL TABLE search USING fts5 (
    title, message, answer, tool, reasoning,
    content = '', contentless_delete = 1, tokenize = 'ascii'
);
-- When the turn of such a row began.
CREATE TABLE search_time (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL
);
-- Chats whose rows are out of date: their title, and their turns from this
-- place on. Whatever changes one of them says so here, and nothing else does.
CREATE TABLE search_due (
    chat  INTEGER PRIMARY KEY,
    place INTEGER NOT NULL
);

CREATE TRIGGER search_turn_inserted AFTER INSERT ON turn BEGIN
    INSERT INTO search_due SELECT id, new.place FROM chat WHERE uri = new.chat
    ON CONFLICT (chat) DO UPDATE SET place = min(place, excluded.place);
END;
CREATE TRIGGER search_turn_updated AFTER UPDATE ON turn BEGIN
    INSERT INTO search_due SELECT id, new.place FROM chat WHERE uri = new.chat
    ON CONFLICT (chat) DO UPDATE SET place = min(place, excluded.place);
END;
CREATE TRIGGER search_turn_deleted AFTER DELETE ON turn BEGIN
    INSERT INTO search_due SELECT id, old.place FROM chat WHERE uri = old.chat
    ON CONFLICT (chat) DO UPDATE SET place = min(place, excluded.place);
END;
CREATE TRIGGER search_chat_inserted AFTER INSERT ON chat BEGIN
    INSERT INTO search_due VALUES (new.id, 0)
    ON CONFLICT (chat) DO UPDATE SET place = 0;
END;
CREATE TRIGGER search_chat_deleted AFTER DELETE ON chat BEGIN
    INSERT INTO search_due VALUES (old.id, 0)
    ON CONFLICT (chat) DO UPDATE SET place = 0;
END;
CREATE TRIGGER search_chat_titled AFTER UPDATE OF title ON chat
WHEN old.title <> new.title BEGIN
    INSERT INTO search_due VALUES (new.id, 16777216) ON CONFLICT (chat) DO NOTHING;
END;
CREATE TRIGGER search_session_titled AFTER UPDATE OF title ON session
WHEN old.title <> new.title BEGIN
    INSERT INTO search_due SELECT id, 16777216 FROM chat WHERE session = new.uri AND is_default
    ON CONFLICT (chat) DO NOTHING;
END;
CREATE TRIGGER search_session_disposed AFTER UPDATE OF disposed_at ON session
WHEN (old.disposed_at IS NULL) <> (new.disposed_at IS NULL) BEGIN
    INSERT INTO search_due SELECT id, 0 FROM chat WHERE session = new.uri
    ON CONFLICT (chat) DO UPDATE SET place = 0;
END;

-- What was stored before is put into the index bit by bit.
INSERT INTO search_due SELECT id, 0 FROM chat;

-- What each turn has used, as far as agents say. A row stays when its turn is
-- cut off or its session is deleted, as it was paid for; a copy of a turn is
-- the same turn.
CREATE TABLE usage (
    turn     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    session  TEXT,
    provider TEXT NOT NULL,
    model    TEXT,
    input    INTEGER NOT NULL,
    output   INTEGER NOT NULL,
    cached   INTEGER NOT NULL,
    cost     REAL,
    currency TEXT,
    PRIMARY KEY (at, turn)
) WITHOUT ROWID;
CREATE INDEX usage_of_session ON usage (session) WHERE session IS NOT NULL;
