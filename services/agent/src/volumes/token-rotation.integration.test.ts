/** Tests a service account's token in a running container. */
import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { BUSYBOX, PAUSE, runsAfter, scriptPod, startEngineNode } from '../docker/testing/engine-node.ts';
import { OwnEngine } from '../docker/testing/own-engine.ts';
import { TokenIssuer } from '../testing/issue-tokens.ts';

/** The shortest lifetime of a token in Kubernetes. */
const LIFE_SECONDS = 600;
/** A worker reads its volumes again after a minute. */
const REFRESH_MS = 60_000;
const SHOW =
  'trap "exit 0" TERM; while true; do new=$(cat /tokens/token) || exit 1; [ "$new" = "$old" ] || echo "$new"; old=$new; sleep 0.05; done';

it('a running container finds a new token at four fifths of the life of the one before, and never none', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 64 });
  await engine.load(BUSYBOX, PAUSE);
  const clock = new ManualClock(Date.now());
  const tokens = new TokenIssuer();
  let issuedAt = 0;
  await using node = await startEngineNode(engine, {
    clock,
    wrapClient: (client) =>
      tokens.wrap(client, () => {
        issuedAt = clock.now();
        return clock;
      }),
  });
  const token = { serviceAccountToken: { path: 'token', expirationSeconds: LIFE_SECONDS } };
  const volumes = [{ name: 'tokens', projected: { sources: [token] } }];
  await node.put(scriptPod('web', SHOW, { volumes }, { volumeMounts: [{ name: 'tokens', mountPath: '/tokens' }] }));
  const poll = { timeout: 60_000, interval: 50 };
  const runs = async () => {
    await clock.advance(100);
    const web = node.find('web');
    return web !== undefined && runsAfter(0)(web);
  };
  await expect.poll(runs, poll).toBe(true);
  const id = node.find('web')?.status?.containerStatuses?.[0]?.containerID?.replace('docker://', '') ?? '';
  const shown = () => engine.docker('logs', id);
  await expect.poll(shown, poll).toBe('token 1');
  // Time has passed since the first one: the longer, the slower the machine starts the container.
  await clock.advance(issuedAt + LIFE_SECONDS * 0.8 * 1000 - REFRESH_MS - clock.now());
  expect(tokens.issued).toBe(1);
  const later = async () => {
    await clock.advance(1_000);
    return await shown();
  };
  await expect.poll(later, poll).toBe('token 1\ntoken 2');
  expect(tokens.issued).toBe(2);
  expect(node.find('web')).toSatisfy(runsAfter(0));
});
