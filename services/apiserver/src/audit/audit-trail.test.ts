import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import type { User } from '../auth/user.ts';
import { createAuditTrail } from './audit-trail.ts';
import { parseAuditPolicy } from './parse-policy.ts';
import type { Level } from './policy.ts';

const ANN: User = { name: 'ann', uid: '', groups: [], extra: {} };
const JSON_TYPE = 'application/json';

interface Event {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

/** Begins one request with a policy of this level. `events` are the events so far. */
function begin(level: Level, { omitManagedFields = false } = {}) {
  const policy = parseAuditPolicy(`
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: ${level}
    omitManagedFields: ${omitManagedFields}
`);
  const events: Event[] = [];
  const lines: string[] = [];
  const trail = createAuditTrail({
    policy,
    clock: new ManualClock(),
    newUid: () => 'uid',
    append: (line) => {
      lines.push(line);
      events.push(JSON.parse(line) as Event);
    },
    decodeProtobuf: () => expect.unreachable(),
  });
  const exchange = trail.begin({
    request: {
      kind: 'resource',
      verb: 'create',
      group: '',
      version: 'v1',
      resource: 'secrets',
      subresource: '',
      namespace: 'n',
      name: '',
    },
    auditId: 'id',
    requestUri: '/api/v1/namespaces/n/secrets',
    user: ANN,
    impersonated: undefined,
    sourceIps: [],
    userAgent: '',
    receivedAt: 0,
  });
  return { exchange, events, lines };
}

const bytesOf = (object: object) => Buffer.from(JSON.stringify(object));

describe('an event', () => {
  it.each<[Level, boolean, boolean]>([
    ['Metadata', false, false],
    ['Request', true, false],
    ['RequestResponse', true, true],
  ])('of the level %s has the body of the request: %j, that of the response: %j', (level, ofRequest, ofResponse) => {
    const { exchange, events } = begin(level);
    exchange.sent(JSON_TYPE, bytesOf({ sent: 1 }));
    exchange.returned(JSON_TYPE, bytesOf({ returned: 1 }));
    exchange.completed(201);
    expect(events[0]?.requestObject).toEqual(ofRequest ? { sent: 1 } : undefined);
    expect(events[0]?.responseObject).toEqual(ofResponse ? { returned: 1 } : undefined);
  });

  it('has annotations that may hold what bodies hold from the level Request on', () => {
    const shown = (level: Level) => {
      const { exchange, events } = begin(level);
      exchange.annotate('plain', 'a');
      exchange.annotate('patch', 'secret', 'Request');
      exchange.completed(201);
      return events[0]?.annotations;
    };
    expect(shown('Metadata')).toEqual({ plain: 'a' });
    expect(shown('Request')).toEqual({ plain: 'a', patch: 'secret' });
  });

  it('keeps the first value of an annotation: a webhook does not write over what the server has found', () => {
    const { exchange, events } = begin('Metadata');
    exchange.annotate('found', 'by the server');
    exchange.annotate('found', 'by a webhook');
    exchange.completed(201);
    expect(events[0]?.annotations).toEqual({ found: 'by the server' });
  });

  it('of a decision has what was decided, whatever an annotation says', () => {
    const { exchange, events } = begin('Metadata');
    exchange.annotate('authorization.k8s.io/decision', 'allow');
    exchange.decided('forbid', 'no rule');
    exchange.completed(403);
    expect(events[0]?.annotations).toMatchObject({ 'authorization.k8s.io/decision': 'forbid' });
  });

  it('says that a body was left out, which is above a mebibyte', () => {
    const { exchange, events } = begin('Request');
    exchange.sent(JSON_TYPE, bytesOf({ large: 'x'.repeat(1024 * 1024) }));
    exchange.completed(201);
    expect(events[0]?.requestObject).toBeUndefined();
    expect(events[0]?.annotations).toEqual({ 'audit.gantry.dev/omitted': 'request: 1048588 bytes' });
  });

  it('says that the body of a response was left out that was sent in parts', () => {
    const { exchange, events } = begin('RequestResponse');
    expect(exchange.keptBytes).toBe(1024 * 1024);
    exchange.returned(JSON_TYPE, { size: 5_000_000 });
    exchange.completed(200);
    expect(events[0]?.annotations).toEqual({ 'audit.gantry.dev/omitted': 'response: 5000000 bytes' });
    expect(begin('Request').exchange.keptBytes).toBe(0);
  });

  it('has the body of a response as it was sent, whatever the number of its values and their size', () => {
    const { exchange, events, lines } = begin('RequestResponse');
    exchange.returned(JSON_TYPE, Buffer.from(`{"large":9007199254740993,"items":[${'0,'.repeat(150_000)}0]}\n`));
    exchange.completed(200);
    expect((events[0]?.responseObject as { items: number[] }).items).toHaveLength(150_001);
    expect(lines[0]).toContain('"large":9007199254740993');
  });

  it('has one line also where the body of a response has several', () => {
    const { exchange, events, lines } = begin('RequestResponse');
    exchange.returned(JSON_TYPE, Buffer.from('{\n  "a": "b\\nc"\n}\n'));
    exchange.completed(200);
    expect(lines[0]).not.toContain('\n');
    expect(events[0]?.responseObject).toEqual({ a: 'b\nc' });
  });

  it('says that the body of a response was left out that could not be decoded', () => {
    const { exchange, events } = begin('RequestResponse');
    exchange.returned('application/yaml', Buffer.from('a: [b'));
    exchange.completed(200);
    expect(events[0]?.annotations).toEqual({ 'audit.gantry.dev/omitted': 'response: 5 bytes' });
  });

  it('lacks managed fields where the policy omits them, those of items too', () => {
    const { exchange, events } = begin('RequestResponse', { omitManagedFields: true });
    const object = { metadata: { name: 'a', managedFields: [{}] } };
    exchange.sent(JSON_TYPE, bytesOf(object));
    exchange.returned(JSON_TYPE, bytesOf({ kind: 'List', items: [object] }));
    exchange.completed(200);
    expect(events[0]).toMatchObject({
      requestObject: { metadata: { name: 'a' } },
      responseObject: { items: [{ metadata: { name: 'a' } }] },
    });
    expect(JSON.stringify(events)).not.toContain('managedFields');
  });

  it('is the only one of the end of a request', () => {
    const { exchange, events } = begin('Metadata');
    exchange.completed(200);
    exchange.completed(500);
    expect(events).toHaveLength(1);
  });
});
