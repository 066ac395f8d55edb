//! One world: a data directory, a repository and a few clients, through several
//! lives of a host. Every life begins with a look at whether everything that
//! was told is so, and ends at an instant that nobody chose.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::join_all;
use innkeeper_judges::VERSIONS;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::choices::Choices;
use crate::disk::Filler;
use crate::ending;
use crate::host::{Host, PATIENCE, Setup, comes_true, processes_in};
use crate::ledger::Listed;
use crate::load::{self, Stage};
use crate::relay::Relay;
use crate::speaker::{Shared, Speaker, Unanswered};
use crate::table::Promise;

/// How long a life lasts at most, if little is said in it.
const LIFE: Duration = Duration::from_secs(4);

/// How much is heard in the last life, before it comes to rest.
const LAST_LIFE: u64 = 3_000;

/// How long a takeover may take on a machine that is busy.
const TAKEOVER_MILLIS: u64 = 20_000;

/// How long agents may go on when their machine does.
const WAKING_MILLIS: u64 = 1_000;

/// How a life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Kill,
    Order,
    /// It is stopped until another host has taken over.
    Pause,
    /// So is everything that it has started.
    Freeze,
}

pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) seed: u64,
    pub(crate) lives: u64,
    pub(crate) clients: usize,
    /// Whether the world's disk is small enough to be filled.
    pub(crate) can_fill: bool,
    pub(crate) shared: Rc<Shared>,
    /// Hosts that take over from each other, if there are several.
    pub(crate) relay: Option<RefCell<Relay>>,
}

impl World {
    /// Lives through it all. An error is about the machine, not the host.
    pub(crate) async fn run(&self) -> Result<()> {
        self.setup.prepare()?;
        ending::make_repository(&self.setup.repository())?;
        let mut choices = Choices::new(self.seed);
        let mut speakers = self.speakers(&mut choices);
        for life in 0..self.lives {
            self.shared.report.borrow_mut().at(self.seed, life);
            let mut choices = Choices::of(self.seed, life + 1);
            if !self.life(life, &mut speakers, &mut choices).await? {
                return Ok(());
            }
        }
        self.shared.report.borrow_mut().at(self.seed, self.lives);
        self.shared.count("lives");
        ending::check(self, &mut speakers).await
    }

    fn speakers(&self, choices: &mut Choices) -> Vec<Speaker> {
        // The newest and a flat one always; the others as it happens.
        let mut versions = vec!["1.0"];
        versions.extend(choices.one_of(&VERSIONS[..4]));
        while versions.len() < self.clients {
            versions.extend(choices.one_of(&VERSIONS));
        }
        let named = versions.into_iter().enumerate();
        named
            .filter_map(|(at, version)| {
                Speaker::new(version, &format!("client-{at}"), &self.shared)
            })
            .collect()
    }

    pub(crate) fn stages(&self) -> Vec<Stage> {
        let repository = format!("file://{}", self.setup.repository().display());
        let stage = |name: &str, provider, directory| Stage {
            session: format!("ahp-session:/{name}"),
            provider,
            directory,
        };
        let mut stages = vec![
            stage("plain", "script", None),
            stage("changes", "script", Some(repository.clone())),
        ];
        if self.setup.agent.is_some() {
            stages.push(stage("program", "dying", Some(repository)));
        }
        stages
    }

    /// Starts a host; one that does not start ends the world.
    pub(crate) async fn start(&self) -> Option<Host> {
        let started = match &self.relay {
            None => Host::start(&self.setup).await,
            Some(relay) => {
                // Nobody else asks for it meanwhile.
                let mut taken = relay.replace(Relay::idle());
                let started = taken.next(&self.setup).await;
                if let Some(gap) = taken.gap() {
                    let millis = u64::try_from(gap.as_millis()).unwrap_or(u64::MAX);
                    let mut report = self.shared.report.borrow_mut();
                    report.measure(Promise::Takeover, millis, TAKEOVER_MILLIS);
                }
                if let Some(woken) = taken.woken() {
                    let millis = u64::try_from(woken.as_millis()).unwrap_or(u64::MAX);
                    let mut report = self.shared.report.borrow_mut();
                    report.measure(Promise::Waking, millis, WAKING_MILLIS);
                }
                relay.replace(taken);
                started
            }
        };
        let why = started.as_ref().err().map(|error| format!("{error:#}"));
        self.shared
            .hold(Promise::Alive, why.is_none(), || why.unwrap_or_default());
        started.ok()
    }

    /// One life. Whether there can be another.
    async fn life(
        &self,
        life: u64,
        speakers: &mut [Speaker],
        choices: &mut Choices,
    ) -> Result<bool> {
        if self.relay.is_none() && choices.percent(20) {
            self.shared.count("kills while starting");
            let after = Duration::from_micros(choices.below(60_000));
            self.setup.start_and_kill(after).await?;
        }
        let Some(mut host) = self.start().await else {
            return Ok(false);
        };
        self.shared.count("lives");
        let greeted = self.greet(life, &host, speakers).await;
        self.shared.hold(Promise::Alive, greeted.is_ok(), || {
            let why = greeted.as_ref().err().map(Unanswered::why);
            format!("a client that comes back is not served: {why:?}")
        });
        if greeted.is_err() {
            return Ok(false);
        }
        let end = match (choices.below(100), &self.relay) {
            (0..20, Some(_)) => End::Pause,
            (20..40, Some(_)) => End::Freeze,
            (0..80, _) => End::Kill,
            _ => End::Order,
        };
        self.live(&mut host, speakers, choices, end).await?;
        for speaker in speakers {
            speaker.disconnect();
        }
        match (&self.relay, end) {
            (None, _) => self.nothing_stays().await,
            (Some(relay), End::Pause | End::Freeze) => relay.borrow_mut().was_paused(host),
            (Some(relay), End::Kill | End::Order) => relay.borrow_mut().was_killed(),
        }
        Ok(true)
    }

    /// Looks at everything that was told, before anybody says anything new.
    async fn greet(
        &self,
        life: u64,
        host: &Host,
        speakers: &mut [Speaker],
    ) -> Result<(), Unanswered> {
        self.judge(host).await?;
        let other = self.relay.as_ref().map(RefCell::borrow);
        let other = other.and_then(|relay| Some(relay.another_door()?.to_owned()));
        for (at, speaker) in speakers.iter_mut().enumerate() {
            // Some come by way of the host that stands by.
            let door = other.as_deref().filter(|_| at % 3 == 1);
            speaker.connect(door.unwrap_or(&host.url)).await?;
            match life {
                0 => speaker.initialize().await?,
                _ => speaker.come_back().await?,
            }
            if life == 0 && speaker.id == "client-0" {
                for stage in self.stages() {
                    let directory = stage.directory.as_deref();
                    load::create(
                        speaker,
                        &self.shared,
                        &stage.session,
                        stage.provider,
                        directory,
                    )
                    .await?;
                }
            }
            for stage in self.stages() {
                speaker.follow_session(&stage.session).await?;
            }
        }
        for speaker in speakers {
            speaker.compare().await?;
        }
        Ok(())
    }

    /// Holds what the host shows to the ledger.
    pub(crate) async fn judge(&self, host: &Host) -> Result<(), Unanswered> {
        let Some(mut judge) = Speaker::new("1.0", "judge", &self.shared) else {
            return Ok(());
        };
        judge.connect(&host.url).await?;
        judge.initialize().await?;
        let mut listed = Vec::new();
        let mut params = json!({"channel": "ahp-root://"});
        loop {
            let page = judge.request("listSessions", params.clone()).await?;
            listed.extend(page["items"].as_array().cloned().unwrap_or_default());
            match page["nextCursor"].as_str() {
                Some(cursor) => params["cursor"] = cursor.into(),
                None => break,
            }
        }
        let names = self.shared.ledger.borrow().names();
        for name in names {
            let is_listed = listed.iter().any(|it| it["resource"] == name.as_str());
            let verdict = {
                let mut report = self.shared.report.borrow_mut();
                let mut ledger = self.shared.ledger.borrow_mut();
                ledger.listed(&name, is_listed, &mut report)
            };
            if verdict == Listed::There {
                self.judge_session(&mut judge, &name).await?;
            }
        }
        Ok(())
    }

    async fn judge_session(&self, judge: &mut Speaker, name: &str) -> Result<(), Unanswered> {
        let session = judge.snapshot(name).await?;
        let chat = judge.snapshot(&judge.words.place(name)).await?;
        let seq = |snapshot: &Value| snapshot["fromSeq"].as_u64().unwrap_or(0);
        let mut report = self.shared.report.borrow_mut();
        let mut ledger = self.shared.ledger.borrow_mut();
        ledger.begins_at(seq(&session), &mut report);
        ledger.begins_at(seq(&chat), &mut report);
        let states = (&session["state"], &chat["state"]);
        ledger.judge(name, seq(&chat), states, &mut report);
        Ok(())
    }

    /// Lets everybody loose on the host, and ends it in the middle of it.
    async fn live(
        &self,
        host: &mut Host,
        speakers: &mut [Speaker],
        choices: &mut Choices,
        end: End,
    ) -> Result<()> {
        let (ended, over) = watch::channel(false);
        let stages = self.stages();
        let url = host.url.clone();
        self.shared.heard.set(0);
        let mut staller = match choices.percent(40) {
            true => Speaker::new("1.0", "staller", &self.shared),
            false => None,
        };
        if let Some(staller) = &mut staller
            && staller.connect(&url).await.is_ok()
        {
            let _ = staller.initialize().await;
        }
        let work = speakers.iter_mut().enumerate().map(|(at, speaker)| {
            let own = Choices::of(choices.clone().next(), at as u64);
            load::work(speaker, &self.shared, &stages, own)
        });
        let work = join_all(work.collect::<Vec<_>>());
        let stall = async {
            if let Some(staller) = &mut staller {
                load::stall(staller, &self.shared, &stages, over.clone()).await;
            }
        };
        let rants = choices.percent(40);
        let words = Choices::new(choices.next());
        let rant = async {
            if rants {
                load::rant(&url, &self.shared, words, over.clone()).await;
            }
        };
        let kill = async {
            let killed = self.end(host, choices, end).await;
            let _ = ended.send(true);
            killed
        };
        let kill = async {
            match end {
                // Whoever is stopped does not hang up: clients give up on it.
                End::Pause | End::Freeze => tokio::select! {
                    killed = kill => killed,
                    _ = async { tokio::join!(work, stall, rant) } => Ok(()),
                },
                End::Kill | End::Order => tokio::join!(work, stall, rant, kill).3,
            }
        };
        kill.await
    }

    /// Lets the clients work for a while, and come to rest.
    pub(crate) async fn busy(&self, host: &Host, speakers: &mut [Speaker]) -> Result<()> {
        let stages = self.stages();
        let greeted = self.greet(self.lives, host, speakers).await;
        self.shared.heard.set(0);
        let work = speakers.iter_mut().enumerate().map(|(at, speaker)| {
            let own = Choices::of(self.seed, 1_000 + at as u64);
            load::work(speaker, &self.shared, &stages, own)
        });
        let work = join_all(work.collect::<Vec<_>>());
        tokio::select! {
            _ = work => {}
            () = self.heard(LAST_LIFE) => {}
        }
        let rested = async {
            for speaker in &mut *speakers {
                for (session, turn) in std::mem::take(&mut speaker.running) {
                    let cancel = speaker.words.cancel(&session, &turn);
                    speaker.dispatch(&session, cancel).await?;
                }
                speaker.compare().await?;
            }
            greeted
        };
        let rested = rested.await;
        self.shared.hold(Promise::Alive, rested.is_ok(), || {
            let why = rested.as_ref().err().map(Unanswered::why);
            format!("a client of a busy host is not served: {why:?}")
        });
        for speaker in speakers {
            speaker.disconnect();
        }
        Ok(())
    }

    /// Waits for the instant, and ends the host.
    async fn end(&self, host: &mut Host, choices: &mut Choices, end: End) -> Result<()> {
        let most = [40, 400, 4_000];
        let instant = choices.below(choices.clone().one_of(&most).copied().unwrap_or(400));
        if self.can_fill && choices.percent(30) {
            self.heard(instant / 2).await;
            self.shared.count("disks filled");
            let filler = Filler::fill(&self.setup.data())?;
            let before = self.shared.report.borrow().counted("actions rejected");
            let full = Duration::from_millis(choices.below(400));
            tokio::time::sleep(full).await;
            let after = self.shared.report.borrow().counted("actions rejected");
            if after > before {
                self.shared.count("disks on which the host refused work");
            }
            // Sometimes it dies while the disk is full.
            if choices.percent(60) {
                drop(filler);
                self.goes_on(host).await;
                self.heard(instant).await;
            }
        } else {
            self.heard(instant).await;
        }
        let ended = host.ended();
        self.shared.hold(Promise::Alive, ended.is_none(), || {
            format!("the host ended by itself: {ended:?}")
        });
        if ended.is_some() {
            return Ok(());
        }
        match end {
            End::Kill => {
                self.shared.count("kills (SIGKILL)");
                host.kill()
            }
            End::Pause => {
                self.shared.count("pauses (SIGSTOP)");
                host.pause()
            }
            End::Freeze => {
                self.shared.count("pauses of the whole machine");
                host.freeze()
            }
            End::Order => {
                self.shared.count("orderly ends (SIGTERM)");
                host.tell_to_end()?;
                let ended = host.has_ended().await;
                self.shared
                    .hold(Promise::Alive, ended.is_ok(), || format!("{ended:?}"));
                Ok(())
            }
        }
    }

    /// Waits until so many actions were heard in this life.
    async fn heard(&self, number: u64) {
        let enough = async {
            while self.shared.heard.get() < number {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(LIFE, enough).await;
    }

    /// With room on its disk again, the host takes work by itself.
    async fn goes_on(&self, host: &Host) {
        let Some(mut probe) = Speaker::new("1.0", "probe", &self.shared) else {
            return;
        };
        let session = self.stages().swap_remove(0).session;
        let tries = async {
            loop {
                if probe.connect(&host.url).await.is_ok()
                    && self.is_echoed(&mut probe, &session).await
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let went_on = tokio::time::timeout(PATIENCE, tries).await.is_ok();
        self.shared.hold(Promise::Room, went_on, || {
            "there was room again, and the host did not accept anything".to_owned()
        });
    }

    async fn is_echoed(&self, probe: &mut Speaker, session: &str) -> bool {
        let told = async {
            probe.initialize().await?;
            probe.follow_session(session).await?;
            let title = json!({"title": format!("Room {}", self.shared.number())});
            let said = probe.words.of_session(session, "titleChanged", title);
            let echoed = self.shared.report.borrow().counted("actions echoed");
            probe.dispatch(session, said).await?;
            let (method, params) = probe.words.list();
            probe.request(method, params).await?;
            Ok::<_, Unanswered>(self.shared.report.borrow().counted("actions echoed") > echoed)
        };
        told.await.unwrap_or(false)
    }

    /// What a host started goes with it.
    pub(crate) async fn nothing_stays(&self) {
        let place = &self.setup.place;
        let gone = comes_true(|| processes_in(place).is_empty()).await;
        self.shared.hold(Promise::Processes, gone, || {
            format!("still there: {}", processes_in(place).join("; "))
        });
    }
}
