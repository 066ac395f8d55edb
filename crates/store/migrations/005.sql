-- Version 5.
-- What was written about files in a session: a row for each annotation, in the
-- order in which they were first written.
CREATE TABLE annotation (
    place   INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    id      TEXT NOT NULL,
    json    TEXT NOT NULL,
    UNIQUE (session, id)
);
