// Schedules in words, and when they occur next: a preview for whoever writes
// one. It is the host that follows them.

const NAMES = {
  month: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
  weekday: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** The smallest and the largest value of each field, and the words for values. */
const FIELDS: readonly (readonly [first: number, last: number, words: readonly string[]])[] = [
  [0, 59, []],
  [0, 23, []],
  [1, 31, []],
  [1, 12, NAMES.month],
  [0, 7, NAMES.weekday],
];

interface Cron {
  minutes: number[];
  hours: number[];
  days: number[];
  months: number[];
  weekdays: number[];
  text: string[];
}

/** Nothing if it is not an expression of the protocol's grammar. */
export function parseCron(expression: string): Cron | undefined {
  const text = expression.trim().split(/\s+/);
  if (text.length !== FIELDS.length) return undefined;
  const values = text.map((field, index) => fieldValues(field, index));
  const [minutes, hours, days, months, weekdays] = values;
  if (!minutes || !hours || !days || !months || !weekdays) return undefined;
  return { minutes, hours, days, months, weekdays: [...new Set(weekdays.map((day) => day % 7))].sort(), text };
}

function fieldValues(field: string, index: number): number[] | undefined {
  const [first, last, words] = FIELDS[index] ?? [0, 0, []];
  const one = (word: string): number => {
    const at = words.indexOf(word.toUpperCase());
    const value = at >= 0 ? at + first : /^\d+$/.test(word) ? Number(word) : NaN;
    return value >= first && value <= last ? value : NaN;
  };
  const range = (part: string): [number, number] => {
    const [from = "", to = from, ...more] = part.split("-");
    return more.length ? [NaN, NaN] : [one(from), one(to)];
  };
  const [base = "", step, ...more] = field.split("/");
  if (more.length || (step !== undefined && !/^0*[1-9]\d*$/.test(step))) return undefined;
  if (step !== undefined && base !== "*" && (!base.includes("-") || base.includes(","))) return undefined;
  const ranges = base === "*" ? [[first, last] as const] : base.split(",").map(range);
  const values = new Set<number>();
  for (const [from, to] of ranges) {
    if (!(from <= to)) return undefined;
    for (let value = from; value <= to; value += Number(step ?? 1)) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

const two = (value: number) => String(value).padStart(2, "0");
const listed = (words: string[]) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`);

/** What an expression says, for people. Nothing if it says nothing. */
export function inWords(expression: string): string | undefined {
  const cron = parseCron(expression);
  if (!cron) return undefined;
  const { minutes, hours, days, months, weekdays, text } = cron;
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = text;
  const every = /^\*\/(\d+)$/;
  let when: string;
  if (minute === "*") when = hour === "*" ? "Every minute" : `Every minute from ${listed(hours.map((at) => `${two(at)}:00 to ${two(at)}:59`))}`;
  else if (every.test(minute) && hour === "*") when = `Every ${every.exec(minute)?.[1] ?? ""} minutes`;
  else if (hour === "*") when = `Every hour at ${listed(minutes.map((at) => `:${two(at)}`))}`;
  else if (minutes.length * hours.length <= 6) when = `At ${listed(hours.flatMap((at) => minutes.map((of) => `${two(at)}:${two(of)}`)))}`;
  else when = `At minutes ${minute} of hours ${hour}`;
  const isWorkWeek = weekdays.join() === "1,2,3,4,5";
  const onDays = day === "*" ? "" : `on day ${listed(days.map(String))} of the month`;
  const onWeekdays = weekday === "*" ? "" : isWorkWeek ? "from Monday to Friday" : `on ${listed(weekdays.map((at) => WEEKDAYS[at] ?? ""))}`;
  const on = [onDays, onWeekdays].filter(Boolean).join(" or ");
  const isEveryDay = !on && hour !== "*";
  const within = month === "*" ? "" : `in ${listed(months.map((at) => MONTHS[at - 1] ?? ""))}`;
  return [when, isEveryDay ? "every day" : on, within].filter(Boolean).join(" ");
}

/** How far ahead a preview looks. */
const DAYS_AHEAD = 366 * 4;

/** The next times, as milliseconds. Nothing if the zone is not known here. */
export function nextRuns(expression: string, timeZone: string, from: number, count: number): number[] {
  const cron = parseCron(expression);
  const clock = cron && clockOf(timeZone);
  if (!cron || !clock) return [];
  const found: number[] = [];
  const today = clock(from);
  for (let ahead = 0; ahead <= DAYS_AHEAD && found.length < count; ahead++) {
    const day = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() + ahead));
    if (!cron.months.includes(day.getUTCMonth() + 1) || !hasDay(cron, day)) continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const at = instantOf(clock, day.getTime() + (hour * 60 + minute) * 60_000);
        if (at > from && found.length < count && at > (found.at(-1) ?? -Infinity)) found.push(at);
      }
    }
  }
  return found;
}

function hasDay({ days, weekdays, text }: Cron, day: Date): boolean {
  const ofMonth = days.includes(day.getUTCDate());
  const ofWeek = weekdays.includes(day.getUTCDay());
  return text[2] !== "*" && text[4] !== "*" ? ofMonth || ofWeek : ofMonth && ofWeek;
}

/** What clocks of a zone show, as if it were UTC. */
function clockOf(timeZone: string): ((at: number) => Date) | undefined {
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    return (at) => {
      const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
      const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
      return new Date(Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second")));
    };
  } catch {
    return undefined;
  }
}

/** When clocks show this. In a gap, about when it ends. */
function instantOf(clock: (at: number) => Date, shown: number): number {
  let at = shown;
  for (let attempt = 0; attempt < 2; attempt++) at += shown - clock(at).getTime();
  // Twice, if clocks are put back: the first time counts.
  const earlier = at - 3_600_000;
  return clock(earlier).getTime() === shown ? earlier : at;
}
