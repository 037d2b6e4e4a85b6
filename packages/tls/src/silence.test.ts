import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { Silence } from './silence.ts';

const LIMIT_MS = 900;

function connectionOf(clock: ManualClock) {
  const connection = {
    bytesRead: 0,
    closedAt: undefined as number | undefined,
    destroy: () => {
      connection.closedAt = clock.monotonicMs();
    },
  };
  return connection;
}

function watched() {
  const clock = new ManualClock();
  const silence = new Silence(clock, LIMIT_MS);
  const connection = connectionOf(clock);
  silence.add(connection);
  silence.start();
  return { clock, silence, connection, startedAt: clock.monotonicMs() };
}

it('closes a connection whose peer sends nothing, within the limit', async () => {
  const { clock, connection, startedAt } = watched();
  await clock.advance(150);
  connection.bytesRead += 1;
  const heardAt = clock.monotonicMs();
  for (let waited = 0; waited < LIMIT_MS; waited += 50) await clock.advance(50);
  expect(connection.closedAt).toBeLessThanOrEqual(heardAt + LIMIT_MS);
  expect(connection.closedAt).toBeGreaterThanOrEqual(startedAt + 150 + (LIMIT_MS * 8) / 9);
});

it('keeps one that sends a byte now and then, or whose peer was heard elsewhere', async () => {
  const { clock, silence, connection } = watched();
  for (let sent = 0; sent < 10; sent++) {
    await clock.advance(700);
    if (sent % 2 === 0) connection.bytesRead += 1;
    else silence.heard();
  }
  expect(connection.closedAt).toBeUndefined();
});

it('does not look while it is stopped, and is patient again afterwards', async () => {
  const { clock, silence, connection } = watched();
  await clock.advance(700);
  silence.stop();
  await clock.advance(10_000);
  silence.start();
  await clock.advance(700);
  expect(connection.closedAt).toBeUndefined();
  silence.remove(connection);
  await clock.advance(10_000);
  expect(connection.closedAt).toBeUndefined();
});
