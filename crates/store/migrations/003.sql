-- Version 3.
-- What is shown of a content where nobody can refer to it. It is loaded with
-- the session.
ALTER TABLE content ADD COLUMN excerpt TEXT;
-- What versions of the protocol up to 0.4 say of a session in the catalogue,
-- and the newest does not: JSON, or nothing.
ALTER TABLE session ADD COLUMN facts TEXT;
