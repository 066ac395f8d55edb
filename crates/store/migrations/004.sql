-- Version 4.
-- Which life of the host has the database. Whoever finds a later one here has
-- been overtaken by another host.
ALTER TABLE sequence ADD COLUMN life INTEGER NOT NULL DEFAULT 0;
-- One row: `day` counts the days in which a host ran, and `since` is when the
-- present one began by the machine's clock (NULL: never).
CREATE TABLE host_days (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    day   INTEGER NOT NULL,
    since INTEGER
);
INSERT INTO host_days VALUES (1, 0, NULL);
-- The host's day on which the session was disposed.
ALTER TABLE session ADD COLUMN disposed_day INTEGER;
UPDATE session SET disposed_day = 0 WHERE disposed_at IS NOT NULL;
