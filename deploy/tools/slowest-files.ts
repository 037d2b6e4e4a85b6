/** A file of tests in a report of Vitest's JSON reporter; times in milliseconds since 1970. */
export interface ReportedFile {
  readonly name: string;
  readonly startTime: number;
  readonly endTime: number;
}

/** Shorter ones are not worth a line. */
const LEAST_SECONDS = 5;

/**
 * Lines that name the files whose tests took longest, the longest first, at most `most`. Names begin below `root`; times are from
 * a file's first test to the end of its last one, in seconds.
 */
export function slowestFiles(files: readonly ReportedFile[], root: string, most: number): readonly string[] {
  return files
    .map(({ name, startTime, endTime }) => ({
      name: name.startsWith(`${root}/`) ? name.slice(root.length + 1) : name,
      seconds: Math.round((endTime - startTime) / 1000),
    }))
    .filter(({ seconds }) => seconds >= LEAST_SECONDS)
    .toSorted((one, other) => other.seconds - one.seconds || (one.name < other.name ? -1 : 1))
    .slice(0, most)
    .map(({ name, seconds }) => `${String(seconds).padStart(6)} s  ${name}`);
}
