import { ManualClock } from '@gantry/base/testing';
import type { Secret, ServiceAccount } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { legacyTokenCounters } from '../../meters.ts';
import { isRecent, legacyTokenOf, LegacyTokenUses } from './legacy-tokens.ts';

const TOKEN = 'the.token.itself';

function secretWith(metadata: Secret['metadata'] = {}, rest: Partial<Secret> = {}): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'n', name: 's', uid: 'uid-s', ...metadata },
    type: 'kubernetes.io/service-account-token',
    data: { token: Buffer.from(TOKEN).toString('base64') },
    ...rest,
  };
}

const account = (...secrets: string[]): ServiceAccount => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { namespace: 'n', name: 'a' },
  secrets: secrets.map((name) => ({ name })),
});
const invalid = { labels: { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' } };

describe('a token that is bound to a Secret', () => {
  it.each([
    ['that its account lists', secretWith(), account('other', 's'), 'generated'],
    ['that its account does not list', secretWith(), account('other'), 'manual'],
    ['that is marked as invalid', secretWith(invalid), account('s'), 'invalidated'],
    ['that is marked as invalid and not listed', secretWith(invalid), account(), 'invalidated'],
    ['of another type', secretWith({}, { type: 'Opaque' }), account('s'), undefined],
    ['that holds another token', secretWith({}, { data: { token: 'b3RoZXI=' } }), account('s'), undefined],
    ['that holds no token', secretWith({}, { data: {} }), account('s'), undefined],
  ])('%s', (_what, secret, of, kind) => {
    expect(legacyTokenOf(TOKEN, secret, of)?.kind).toBe(kind);
  });
});

describe('uses of tokens', () => {
  const used = (labels: Record<string, string> = {}, uid = 'uid-s') =>
    ({ kind: 'manual', secret: secretWith({ labels, uid }) }) as const;
  const lastUsed = (day: string) => ({ 'kubernetes.io/legacy-token-last-used': day });

  it('wait to be written once, until they are, and not on the day that is written already', () => {
    const clock = new ManualClock(Date.parse('2026-01-05T12:00:00Z'));
    const uses = new LegacyTokenUses(legacyTokenCounters(createMetrics()), clock);
    let notified = 0;
    const end = uses.observe(() => (notified += 1));
    for (const labels of [lastUsed('2026-01-05'), lastUsed('2026-01-06')]) uses.note(used(labels));
    expect([notified, uses.unwritten()]).toEqual([0, []]);
    for (const labels of [{}, lastUsed('2026-01-04'), lastUsed('nonsense')]) uses.note(used(labels));
    expect([notified, uses.unwritten().length]).toEqual([1, 1]);
    uses.note(used({}, 'another'));
    expect([notified, uses.unwritten().length]).toEqual([2, 2]);
    uses.settle(used().secret);
    uses.note(used());
    expect([notified, uses.unwritten().length]).toEqual([3, 2]);
    end();
    uses.note(used({}, 'a third'));
    expect(notified).toBe(3);
  });

  it('are counted by kind', async () => {
    const metrics = createMetrics();
    const uses = new LegacyTokenUses(legacyTokenCounters(metrics), new ManualClock());
    const { secret } = used();
    for (const kind of ['generated', 'manual', 'manual', 'invalidated'] as const) uses.note({ kind, secret });
    const { text } = await metrics.render();
    expect(text).toContain('serviceaccount_legacy_auto_token_uses_total 1\n');
    expect(text).toContain('serviceaccount_legacy_manual_token_uses_total 2\n');
    expect(text).toContain('serviceaccount_invalid_legacy_auto_token_uses_total 1\n');
  });

  it('are recent by the day in UTC', () => {
    const at = (time: string) => isRecent(secretWith({ labels: lastUsed('2026-01-05') }), Date.parse(time));
    expect(at('2026-01-03T23:59:59Z')).toBe(false);
    expect(at('2026-01-04T00:00:00Z')).toBe(true);
    expect(at('2026-01-05T23:59:59Z')).toBe(true);
    expect(at('2026-01-06T00:00:00Z')).toBe(false);
  });
});
