//! Comparing two texts line by line, in a number of steps that is set before.
//!
//! The library finds the best comparison, but in the worst case its time grows
//! with the square of the lines and its stack with their number. So it is given
//! short stretches only. A longer one is divided at the lines that occur exactly
//! once on each side, and what can neither be divided nor afforded counts as
//! replaced: all its old lines were removed, all its new ones added.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token, sources};

/// The longest side of a stretch that the library is given, in lines.
const LONGEST: usize = 4_000;
/// What asking the library costs, however short the stretch is.
const ONE_CALL: u64 = 256;

/// How much work a comparison may be. A step is at most a few nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps(pub u64);

impl Steps {
    /// Where nobody else waits: four of the longest stretches.
    pub const MANY: Self = Self(4 * Self::FEW.0);
    /// Where everybody waits: one of the longest stretches, and what surrounds it.
    pub const FEW: Self = Self((LONGEST * LONGEST) as u64 + 64 * 1024);
}

/// What differs between two texts.
#[derive(Debug)]
pub struct Comparison {
    /// The lines that differ, in order; there is an equal line between two hunks.
    pub hunks: Vec<Hunk>,
    /// Whether no stretch had to be taken for replaced.
    pub is_exact: bool,
    lines: [u32; 2],
    #[cfg(test)]
    work: Work,
}

/// What was really done, counted where it is done and not where it is allowed.
#[cfg(test)]
#[derive(Debug, Default, Clone, Copy)]
struct Work {
    steps: u64,
    /// The longest side that the library was given.
    longest: usize,
}

impl Comparison {
    pub fn new(before: &[u8], after: &[u8], steps: Steps) -> Self {
        let input = InternedInput::new(sources::byte_lines(before), sources::byte_lines(after));
        let mut search = Search {
            before: &input.before,
            after: &input.after,
            seen: vec![Seen::default(); input.interner.num_tokens() as usize],
            left: steps.0,
            hunks: Vec::new(),
            is_exact: true,
            #[cfg(test)]
            work: Work::default(),
        };
        search.run();
        Self {
            #[cfg(test)]
            work: search.work,
            is_exact: search.is_exact,
            hunks: search.hunks,
            lines: [input.before.len(), input.after.len()].map(|lines| lines as u32),
        }
    }

    pub fn added(&self) -> u32 {
        self.hunks.iter().map(|hunk| hunk.after.len() as u32).sum()
    }

    pub fn removed(&self) -> u32 {
        self.hunks.iter().map(|hunk| hunk.before.len() as u32).sum()
    }

    /// How much of the longer text is in both, from 0 to 1.
    pub fn likeness(&self) -> f64 {
        let [before, after] = self.lines;
        let kept = f64::from(before - self.removed());
        match before.max(after) {
            0 => 1.0,
            most => kept / f64::from(most),
        }
    }
}

/// A stretch of both texts that is still to be compared.
#[derive(Clone)]
struct Stretch {
    before: Range<usize>,
    after: Range<usize>,
}

/// How often a line occurs in the stretch that is looked at.
#[derive(Clone, Copy, Default)]
struct Seen {
    before: u32,
    after: u32,
    /// Where in `after`; then its number among the lines of the stretch.
    at: u32,
}

struct Search<'a> {
    before: &'a [Token],
    after: &'a [Token],
    seen: Vec<Seen>,
    left: u64,
    hunks: Vec<Hunk>,
    is_exact: bool,
    #[cfg(test)]
    work: Work,
}

impl Search<'_> {
    fn run(&mut self) {
        // The next one in the text is the last one here.
        let mut to_do = vec![Stretch {
            before: 0..self.before.len(),
            after: 0..self.after.len(),
        }];
        while let Some(stretch) = to_do.pop() {
            let stretch = self.without_equal_ends(stretch);
            if stretch.before.is_empty() && stretch.after.is_empty() {
                continue;
            }
            if stretch.before.is_empty() || stretch.after.is_empty() {
                self.replaced(&stretch);
                continue;
            }
            let lines = stretch.before.len() + stretch.after.len();
            if !self.affords(lines as u64) {
                self.is_exact = false;
                self.replaced(&stretch);
                continue;
            }
            self.look_at(&stretch);
            let longer = stretch.before.len().max(stretch.after.len());
            let call = ONE_CALL + (longer * longer) as u64;
            if !self.has_common_lines(&stretch) {
                self.replaced(&stretch);
            } else if longer <= LONGEST && self.affords(call) {
                self.ask_library(&stretch);
            } else {
                let parts = self.divided(&stretch);
                if parts.is_empty() {
                    self.is_exact = false;
                    self.replaced(&stretch);
                }
                to_do.extend(parts.into_iter().rev());
            }
            self.look_away(&stretch);
        }
    }

    fn affords(&mut self, steps: u64) -> bool {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    fn replaced(&mut self, stretch: &Stretch) {
        self.hunks.push(Hunk {
            before: stretch.before.start as u32..stretch.before.end as u32,
            after: stretch.after.start as u32..stretch.after.end as u32,
        });
    }

    fn without_equal_ends(&self, mut stretch: Stretch) -> Stretch {
        let sides = |stretch: &Stretch| {
            let before = self.before[stretch.before.clone()].iter();
            before.zip(&self.after[stretch.after.clone()])
        };
        let equal = sides(&stretch).take_while(|(old, new)| old == new).count();
        stretch.before.start += equal;
        stretch.after.start += equal;
        let old = self.before[stretch.before.clone()].iter().rev();
        let new = self.after[stretch.after.clone()].iter().rev();
        let equal = old.zip(new).take_while(|(old, new)| old == new).count();
        stretch.before.end -= equal;
        stretch.after.end -= equal;
        stretch
    }

    fn look_at(&mut self, stretch: &Stretch) {
        #[cfg(test)]
        {
            self.work.steps += (stretch.before.len() + stretch.after.len()) as u64;
        }
        for token in &self.before[stretch.before.clone()] {
            self.seen[token.0 as usize].before += 1;
        }
        for at in stretch.after.clone() {
            let seen = &mut self.seen[self.after[at].0 as usize];
            seen.after += 1;
            seen.at = at as u32;
        }
    }

    fn look_away(&mut self, stretch: &Stretch) {
        let before = &self.before[stretch.before.clone()];
        for token in before.iter().chain(&self.after[stretch.after.clone()]) {
            self.seen[token.0 as usize] = Seen::default();
        }
    }

    fn has_common_lines(&self, stretch: &Stretch) -> bool {
        let mut before = self.before[stretch.before.clone()].iter();
        before.any(|token| self.seen[token.0 as usize].after > 0)
    }

    fn ask_library(&mut self, stretch: &Stretch) {
        let before = &self.before[stretch.before.clone()];
        let after = &self.after[stretch.after.clone()];
        // The library has a table of all lines: that is of those in the stretch.
        let mut numbers = 0;
        for token in before.iter().chain(after) {
            let seen = &mut self.seen[token.0 as usize];
            if seen.before + seen.after > 0 {
                *seen = Seen {
                    at: numbers,
                    ..Seen::default()
                };
                numbers += 1;
            }
        }
        let numbered = |tokens: &[Token]| -> Vec<Token> {
            let at = |token: &Token| Token(self.seen[token.0 as usize].at);
            tokens.iter().map(at).collect()
        };
        let (before, after) = (numbered(before), numbered(after));
        #[cfg(test)]
        {
            let longer = before.len().max(after.len());
            self.work.longest = self.work.longest.max(longer);
            self.work.steps += (longer * longer) as u64;
        }
        let mut diff = Diff::default();
        diff.compute_with(Algorithm::Histogram, &before, &after, numbers);
        let from = |at: usize, range: Range<u32>| {
            let at = at as u32;
            range.start + at..range.end + at
        };
        self.hunks.extend(diff.hunks().map(|hunk| Hunk {
            before: from(stretch.before.start, hunk.before),
            after: from(stretch.after.start, hunk.after),
        }));
    }

    /// The stretches between the lines that occur exactly once on each side: as
    /// many of these as are in the same order on both.
    fn divided(&self, stretch: &Stretch) -> Vec<Stretch> {
        let mut equal = Vec::new();
        for at in stretch.before.clone() {
            let seen = self.seen[self.before[at].0 as usize];
            if seen.before == 1 && seen.after == 1 {
                equal.push((at, seen.at as usize));
            }
        }
        let equal = longest_rising(&equal);
        if equal.is_empty() {
            return Vec::new();
        }
        let (mut before, mut after) = (stretch.before.start, stretch.after.start);
        let mut parts = Vec::with_capacity(equal.len() + 1);
        for (old, new) in equal {
            parts.push(Stretch {
                before: before..old,
                after: after..new,
            });
            (before, after) = (old + 1, new + 1);
        }
        parts.push(Stretch {
            before: before..stretch.before.end,
            after: after..stretch.after.end,
        });
        parts
    }
}

/// Of pairs whose first numbers rise, the most whose second ones rise too.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair with the lowest number that such a row ends with.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        previous.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut row = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        row.push(pairs[index]);
        next = previous[index];
    }
    row.reverse();
    row
}

#[cfg(test)]
mod tests;
