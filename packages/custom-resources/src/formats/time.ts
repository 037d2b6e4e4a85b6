const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const TIME = /^(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)$/;
const GO_DURATION = /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
/** Units by their short names, of which none may follow, and by their long ones, which may go on as they like. */
const UNIT = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i;

/** Whether a text is a day of the calendar. */
export function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

/** Whether a text is a date, a `T`, a time of day and a zone. */
export function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  const [, hours = '99', minutes = '99', seconds = '99'] = TIME.exec(time) ?? [];
  return isDate(date) && hours <= '23' && minutes <= '59' && seconds <= '59';
}

/** Whether a text is a duration of Go, or has one in it in the way of Scala: a number and a unit, among whatever else. */
export function isDuration(text: string): boolean {
  if (GO_DURATION.test(text)) return true;
  return [...text.matchAll(/(?<!\d)\d+\s*([A-Za-zµ]+)/g)].some(([, unit = '']) => UNIT.test(unit));
}
