-- Version 3. What is shown of a content where nobody can refer to it. It is
-- loaded with the session.
ALTER TABLE content ADD COLUMN excerpt TEXT;
