import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { type ElectionEvent, runElected } from './elected.ts';
import { silentLog } from './testing/silent-log.ts';

const TERM = { electionKey: '/gantry/elections/kube-test', epoch: 1, incarnation: 'i' };

it('stops acting while leadership is in doubt, and acts once at a time', async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const log: string[] = [];
  let acting = 0;
  async function* campaign(): AsyncGenerator<ElectionEvent> {
    const events: ElectionEvent[] = [{ kind: 'elected', ...TERM }, { kind: 'suspended' }, { kind: 'resumed' }];
    for (const event of events) {
      yield event;
      // By then the event has been taken, and what must stop has stopped.
      log.push(`${event.kind}: ${acting} acting`);
    }
    yield { kind: 'lost' };
    log.push(`lost: ${acting} acting`);
    await new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true }));
  }
  const member = runElected({
    election: { campaign },
    act: async (_term, signal) => {
      acting += 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      acting -= 1;
    },
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  const running = member.run(stop.signal);
  await clock.advance(0);
  expect(log).toEqual(['elected: 1 acting', 'suspended: 0 acting', 'resumed: 1 acting', 'lost: 0 acting']);
  expect(member.role()).toBe('standby');
  stop.abort();
  await clock.advance(5000);
  await running;
});
