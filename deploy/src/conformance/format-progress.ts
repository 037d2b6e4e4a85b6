export interface Counts {
  readonly done: number;
  readonly total: number;
  readonly failed: number;
}

/** What people see while tests run: how far, how many failed, and the time left if the rest goes on as what was done since `elapsedMs`. */
export function formatProgress(counts: Counts, doneNow: number, elapsedMs: number): string {
  const left = doneNow === 0 ? undefined : ((counts.total - counts.done) * elapsedMs) / doneNow;
  const parts = [`${counts.done} of ${counts.total} done`, `${counts.failed} failed`];
  if (left !== undefined && counts.done < counts.total) parts.push(`about ${formatDuration(left)} left`);
  return parts.join(', ');
}

export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
