//! What each [`StoreOp`] means in SQL, without a database: batches become
//! statements, which are then sent together.
//!
//! *Invariant*: as in the other stores, an operation that makes no sense
//! changes nothing else and is not an error.

use std::collections::{BTreeMap, BTreeSet};

use innkeeper_protocol::record::{ChatRecord, SessionRecord, StoreBatch, StoreOp};
use innkeeper_protocol::{ChannelUri, Seq, Timestamp};

use super::connection::{Said, Value};
use crate::StoreError;
use crate::sequence::Sequence;
use crate::sqlite::json::json;
use crate::tail::{LogRow, LogSink, Tail};

/// The names of settings.
pub(super) const ROOT_CONFIG: &str = "root_config";
pub(super) const SWITCHES: &str = "switches";

/// What is to be said to the database, and what is true when it was done.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) said: Vec<Said>,
    pub(super) sequence: Sequence,
    /// By how many bytes the log grows.
    pub(super) log_bytes: u64,
    /// Sessions that are disposed behind it, or no longer are.
    pub(super) disposed: BTreeMap<ChannelUri, bool>,
}

/// Plans batches on what is known of the database: only one host writes.
pub(super) fn plan(
    batches: &[StoreBatch],
    before: Sequence,
    disposed: &BTreeSet<ChannelUri>,
) -> Result<Plan, StoreError> {
    let mut planning = Planning {
        said: Statements(Vec::new()),
        tail: Tail::default(),
        sequence: before,
        before: disposed,
        disposed: BTreeMap::new(),
    };
    for op in batches.iter().flat_map(|batch| &batch.ops) {
        planning.op(op)?;
    }
    planning.tail.flush(&mut planning.said)?;
    if planning.sequence != before {
        planning.said.0.push(save_sequence(&planning.sequence));
    }
    Ok(Plan {
        said: planning.said.0,
        sequence: planning.sequence,
        log_bytes: planning.tail.bytes,
        disposed: planning.disposed,
    })
}

pub(super) fn save_sequence(sequence: &Sequence) -> Said {
    Said {
        sql: "UPDATE sequence SET reserved = $1, last = $2, life_first = $3, log_start = $4",
        values: vec![
            seq(sequence.reserved),
            seq(sequence.last),
            seq(sequence.life_first),
            seq(sequence.log_start),
        ],
    }
}

#[derive(Debug)]
struct Statements(Vec<Said>);

impl Statements {
    fn say(&mut self, sql: &'static str, values: Vec<Value>) {
        self.0.push(Said { sql, values });
    }
}

impl LogSink for Statements {
    fn write(&mut self, row: LogRow<'_>) -> Result<(), StoreError> {
        self.say(
            "INSERT INTO log (first, last, channel, action, origin, facts, cuts)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            vec![
                seq(row.first),
                seq(row.last),
                uri(row.channel),
                Value::Text(row.action),
                Value::OptionalText(row.origin),
                Value::OptionalText(row.facts),
                Value::OptionalText(row.cuts),
            ],
        );
        Ok(())
    }
}

struct Planning<'a> {
    said: Statements,
    tail: Tail,
    sequence: Sequence,
    before: &'a BTreeSet<ChannelUri>,
    disposed: BTreeMap<ChannelUri, bool>,
}

impl Planning<'_> {
    fn op(&mut self, op: &StoreOp) -> Result<(), StoreError> {
        let said = &mut self.said;
        match op {
            StoreOp::Append(action) => {
                self.sequence.last = self.sequence.last.max(action.seq);
                self.tail.append(said, action)?;
            }
            StoreOp::PutSession(record) => self.put_session(record)?,
            StoreOp::DisposeSession { session, at } => {
                self.tail.flush(said)?;
                forget_log(&mut said.0, session);
                said.say(
                    "UPDATE session SET disposed_at = $2,
                         disposed_day = (SELECT day FROM host_days)
                     WHERE uri = $1 AND disposed_at IS NULL",
                    vec![uri(session), Value::Int(at.as_millis())],
                );
                self.disposed.insert(session.clone(), true);
            }
            StoreOp::PutChat(record) => self.put_chat(record)?,
            StoreOp::DeleteChat { chat } => {
                said.say("DELETE FROM turn WHERE chat = $1", vec![uri(chat)]);
                said.say("DELETE FROM chat WHERE uri = $1", vec![uri(chat)]);
            }
            StoreOp::AppendTurn { chat, index, turn } => said.say(
                "INSERT INTO turn (chat, place, id, json)
                     SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM chat WHERE uri = $1)
                 ON CONFLICT (chat, place) DO UPDATE SET id = excluded.id, json = excluded.json",
                vec![
                    uri(chat),
                    count(*index),
                    Value::Text(turn.id.to_string()),
                    Value::Json(turn.json.clone()),
                ],
            ),
            StoreOp::TruncateTurns { chat, keep } => said.say(
                "DELETE FROM turn WHERE chat = $1 AND place >= $2",
                vec![uri(chat), count(*keep)],
            ),
            StoreOp::PutClient(client) => said.say(
                "INSERT INTO client (client_id, version, seen_at) VALUES ($1, $2, $3)
                 ON CONFLICT (client_id) DO UPDATE
                     SET version = excluded.version, seen_at = excluded.seen_at",
                vec![
                    Value::Text(client.client_id.to_string()),
                    Value::Text(client.version.clone()),
                    Value::Int(client.seen_at.as_millis()),
                ],
            ),
            StoreOp::ForgetClient { client_id } => said.say(
                "DELETE FROM client WHERE client_id = $1",
                vec![Value::Text(client_id.to_string())],
            ),
            StoreOp::PutRootConfig { values } => self.put_setting(ROOT_CONFIG, values)?,
            StoreOp::PutSwitches { values } => self.put_setting(SWITCHES, values)?,
            StoreOp::PutContent(content) => said.say(
                "INSERT INTO content (uri, session, content_type, data, excerpt)
                 VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (uri) DO UPDATE SET session = excluded.session,
                     content_type = excluded.content_type, data = excluded.data,
                     excerpt = excluded.excerpt",
                vec![
                    Value::Text(content.uri.clone()),
                    uri(&content.session),
                    shown(&content.content_type),
                    Value::Bytes(content.data.clone()),
                    Value::OptionalBytes(content.excerpt.as_ref().map(|it| it.as_bytes().into())),
                ],
            ),
            StoreOp::ShareContent { from, with } => said.say(
                "INSERT INTO content_share (content, session)
                     SELECT uri, $2 FROM content WHERE session = $1
                     UNION SELECT content, $2 FROM content_share WHERE session = $1
                 ON CONFLICT DO NOTHING",
                vec![uri(from), uri(with)],
            ),
            StoreOp::PutAnnotation {
                session,
                annotation,
            } => said.say(
                "INSERT INTO annotation (session, id, json) VALUES ($1, $2, $3)
                 ON CONFLICT (session, id) DO UPDATE SET json = excluded.json",
                vec![
                    uri(session),
                    Value::Text(annotation.id.clone()),
                    Value::Text(json("annotation", annotation)?),
                ],
            ),
            StoreOp::RemoveAnnotation { session, id } => said.say(
                "DELETE FROM annotation WHERE session = $1 AND id = $2",
                vec![uri(session), Value::Text(id.clone())],
            ),
            StoreOp::PutAutomation(record) => said.say(
                "INSERT INTO automation (uri, json, notes) VALUES ($1, $2, $3)
                 ON CONFLICT (uri) DO UPDATE SET json = excluded.json, notes = excluded.notes",
                vec![
                    Value::Text(record.entry.resource.clone()),
                    Value::Text(json("automation", &record.entry)?),
                    Value::Text(json("automation", &record.notes)?),
                ],
            ),
            StoreOp::RemoveAutomation { automation } => {
                let its = "DELETE FROM automation_run WHERE automation = $1";
                said.say(its, vec![uri(automation)]);
                said.say(
                    "DELETE FROM automation WHERE uri = $1",
                    vec![uri(automation)],
                );
            }
            StoreOp::PutAutomationRun(record) => said.say(
                "INSERT INTO automation_run (uri, automation, json, notes)
                 VALUES ($1, $2, $3, $4)
                 ON CONFLICT (uri) DO UPDATE SET json = excluded.json, notes = excluded.notes",
                vec![
                    Value::Text(record.state.resource.clone()),
                    Value::Text(record.state.automation.clone()),
                    Value::Text(json("automation run", &record.state)?),
                    Value::Text(json("automation run", &record.notes)?),
                ],
            ),
            StoreOp::RemoveAutomationRun { run } => {
                said.say("DELETE FROM automation_run WHERE uri = $1", vec![uri(run)]);
            }
            StoreOp::ReserveSeq { until } => self.sequence.reserved = *until,
            StoreOp::TrimLog { below } => {
                self.tail.flush(said)?;
                said.say("DELETE FROM log WHERE last < $1", vec![seq(*below)]);
                self.sequence.trimmed(*below);
            }
            StoreOp::Reread { below, .. } => {
                self.sequence.last = self.sequence.last.max(below.back(1));
                self.sequence.trimmed(*below);
            }
        }
        Ok(())
    }

    fn is_disposed(&self, session: &ChannelUri) -> bool {
        let changed = self.disposed.get(session).copied();
        changed.unwrap_or_else(|| self.before.contains(session))
    }

    fn any_is_disposed(&self) -> bool {
        !self.before.is_empty() || !self.disposed.is_empty()
    }

    fn put_session(&mut self, record: &SessionRecord) -> Result<(), StoreError> {
        if self.is_disposed(&record.uri) {
            purge(&mut self.said.0, &record.uri);
            self.disposed.insert(record.uri.clone(), false);
        }
        let summary = &record.summary;
        let created_at = Timestamp::parse(&summary.created_at).map(Timestamp::as_millis);
        let facts = match record.facts.is_empty() {
            true => None,
            false => Some(json("summary", &record.facts)?),
        };
        self.said.say(
            "INSERT INTO session
                 (uri, provider, title, status, created_at, modified_at, summary, facts)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (uri) DO UPDATE SET provider = excluded.provider,
                 title = excluded.title, status = excluded.status,
                 created_at = excluded.created_at, modified_at = excluded.modified_at,
                 summary = excluded.summary, facts = excluded.facts",
            vec![
                uri(&record.uri),
                shown(&summary.provider),
                shown(&summary.title),
                Value::Int(i64::from(summary.status)),
                Value::OptionalInt(created_at),
                millis(&summary.modified_at),
                Value::Text(json("summary", summary)?),
                Value::OptionalText(facts),
            ],
        );
        self.put_titles(record);
        self.said.say(
            "INSERT INTO session_state (uri, state, notes) VALUES ($1, $2, $3)
             ON CONFLICT (uri) DO UPDATE SET state = excluded.state, notes = excluded.notes",
            vec![
                uri(&record.uri),
                Value::Text(json("session", &record.state)?),
                Value::Text(json("session", &record.notes)?),
            ],
        );
        Ok(())
    }

    /// A chat is called what its session lists it as: its own state cannot be
    /// renamed. The default one is called what the session is.
    fn put_titles(&mut self, record: &SessionRecord) {
        let default = ChannelUri::default_chat_of(record.uri.as_str());
        let listed = record.summary.chats.iter().flatten();
        for chat in listed.filter(|chat| *chat.resource != *default.as_str()) {
            self.said.say(
                "UPDATE chat SET title = $2 WHERE uri = $1 AND title <> $2",
                vec![Value::Text(without_nul(&chat.resource)), shown(&chat.title)],
            );
        }
    }

    fn put_chat(&mut self, record: &ChatRecord) -> Result<(), StoreError> {
        let head = &record.head;
        let is_default = record.uri == ChannelUri::default_chat_of(record.session.as_str());
        // The name may be that of a chat in a disposed session: it begins afresh
        // here. In a living session it is a chat that moves.
        if self.any_is_disposed() {
            self.said.say(
                "WITH gone AS (DELETE FROM chat
                     WHERE uri = $1 AND session <> $2 AND EXISTS (SELECT 1 FROM session
                         WHERE session.uri = chat.session AND disposed_at IS NOT NULL)
                     RETURNING uri)
                 DELETE FROM turn WHERE chat IN (SELECT uri FROM gone)",
                vec![uri(&record.uri), uri(&record.session)],
            );
        }
        self.said.say(
            "INSERT INTO chat (uri, session, is_default, title, status, modified_at,
                 active_turn, seq, head, notes)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT (uri) DO UPDATE SET session = excluded.session,
                 is_default = excluded.is_default, status = excluded.status,
                 modified_at = excluded.modified_at, active_turn = excluded.active_turn, seq = excluded.seq,
                 head = excluded.head, notes = excluded.notes",
            vec![
                uri(&record.uri),
                uri(&record.session),
                Value::Bool(is_default),
                shown(&head.title),
                Value::Int(i64::from(head.status)),
                millis(&head.modified_at),
                Value::OptionalText(head.active_turn.as_ref().map(|turn| without_nul(&turn.id))),
                seq(record.seq),
                Value::Text(json("chat", head)?),
                Value::Text(json("chat", &record.notes)?),
            ],
        );
        Ok(())
    }

    fn put_setting(&mut self, name: &str, values: &serde_json::Value) -> Result<(), StoreError> {
        self.said.say(
            "INSERT INTO setting (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            vec![
                Value::Text(name.to_owned()),
                Value::Text(json("configuration", values)?),
            ],
        );
        Ok(())
    }
}

/// Removes the log of a session's own channel, of its chats and of its
/// annotations.
pub(super) fn forget_log(said: &mut Vec<Said>, session: &ChannelUri) {
    said.push(Said {
        sql: "DELETE FROM log WHERE channel = $1 OR channel = $2
                  OR channel IN (SELECT uri FROM chat WHERE session = $1)",
        values: vec![
            uri(session),
            uri(&ChannelUri::annotations_of(session.as_str())),
        ],
    });
}

/// Removes a session with all that it owns but its log.
pub(super) fn purge(said: &mut Vec<Said>, session: &ChannelUri) {
    for sql in [
        "DELETE FROM turn WHERE chat IN (SELECT uri FROM chat WHERE session = $1)",
        "DELETE FROM chat WHERE session = $1",
        // What it shares goes over to one of those that it is shared with.
        "DELETE FROM content_share WHERE session = $1",
        "UPDATE content AS owned SET session =
             (SELECT min(share.session) FROM content_share AS share
              WHERE share.content = owned.uri)
         WHERE owned.session = $1 AND EXISTS
             (SELECT 1 FROM content_share AS share WHERE share.content = owned.uri)",
        "DELETE FROM content_share AS share WHERE EXISTS (SELECT 1 FROM content AS owned
             WHERE owned.uri = share.content AND owned.session = share.session)
             AND share.session <> $1",
        "DELETE FROM content WHERE session = $1",
        "DELETE FROM annotation WHERE session = $1",
        // What it has cost was paid for, but it is not named any more.
        "UPDATE usage SET session = NULL WHERE session = $1",
        "DELETE FROM session_state WHERE uri = $1",
        "DELETE FROM session WHERE uri = $1",
    ] {
        said.push(Said {
            sql,
            values: vec![uri(session)],
        });
    }
}

pub(super) fn uri(uri: &ChannelUri) -> Value {
    Value::Text(uri.as_str().to_owned())
}

pub(super) fn seq(number: Seq) -> Value {
    count(number.get())
}

/// The database's integers are signed; nothing that is counted comes near
/// their end.
pub(super) fn count(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A column to sort by: what is not a timestamp sorts last.
fn millis(iso: &str) -> Value {
    Value::Int(Timestamp::parse(iso).map_or(0, Timestamp::as_millis))
}

/// A column for people. What is read back is in the JSON next to it, where
/// every character can stand.
fn shown(text: &str) -> Value {
    Value::Text(without_nul(text))
}

pub(super) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
