-- Version 3. What versions of the protocol up to 0.4 say of a session in the
-- catalogue, and the newest does not: JSON, or nothing.
ALTER TABLE session ADD COLUMN facts TEXT;
