-- Version 2. A copied session refers to the contents of the one it was copied
-- from: they live as long as one of both does.
CREATE TABLE content_share (
    content TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (content, session)
) WITHOUT ROWID;
CREATE INDEX content_share_of_session ON content_share (session);
