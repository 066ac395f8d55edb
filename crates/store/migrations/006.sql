-- Version 6.
-- Automations, and their runs: a row for each, in the order in which they were
-- created.
CREATE TABLE automation (
    place INTEGER PRIMARY KEY,
    uri   TEXT NOT NULL UNIQUE,
    json  TEXT NOT NULL,
    notes TEXT NOT NULL
);
CREATE TABLE automation_run (
    place      INTEGER PRIMARY KEY,
    uri        TEXT NOT NULL UNIQUE,
    automation TEXT NOT NULL,
    json       TEXT NOT NULL,
    notes      TEXT NOT NULL
);
CREATE INDEX run_of_automation ON automation_run (automation);
