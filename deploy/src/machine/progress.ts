import type { Clock } from '@gantry/base';

/** Reports steps, their duration, and what a long step waits for. */
export interface Progress {
  /** Runs `work` as one step. `note` replaces the step's text, while it runs and at its end. */
  step<T>(title: string, work: (note: (text: string) => void) => Promise<T>): Promise<T>;
  line(text: string): void;
}

export interface StepTime {
  readonly title: string;
  readonly ms: number;
}

const REMIND_MS = 3_000;

/** Progress as lines of text. A long step reports every few seconds what it waits for. */
export function createProgress(clock: Clock, write: (text: string) => void, times: StepTime[] = []): Progress {
  return {
    line: (text) => write(`${text}\n`),
    step: async (title, work) => {
      const startedAt = clock.monotonicMs();
      const seconds = () => ((clock.monotonicMs() - startedAt) / 1000).toFixed(1);
      let said = '';
      let cancel = () => undefined as unknown;
      const remind = () => {
        if (said !== '') write(`    … ${title}: ${said} (${seconds()} s)\n`);
        cancel = clock.setTimer(REMIND_MS, remind);
      };
      cancel = clock.setTimer(REMIND_MS, remind);
      try {
        const result = await work((text) => {
          said = text;
        });
        times.push({ title, ms: clock.monotonicMs() - startedAt });
        write(`  ✓ ${title}${said === '' ? '' : `: ${said}`} (${seconds()} s)\n`);
        return result;
      } catch (error) {
        write(`  ✗ ${title}${said === '' ? '' : `: ${said}`} (${seconds()} s)\n`);
        throw error;
      } finally {
        cancel();
      }
    },
  };
}
