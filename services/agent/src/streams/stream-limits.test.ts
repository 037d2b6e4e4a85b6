import { describe, expect, it } from 'vitest';
import { StreamLimits } from './stream-limits.ts';

const POD_LIMIT = 128;
const NODE_LIMIT = 1024;

/** Streams of the pods `uid-0`, `uid-1` and so on, each of which has as many as it may have. */
const openOf = (limits: StreamLimits, count: number) =>
  Array.from({ length: count }, (_, i) => limits.take(`uid-${Math.floor(i / POD_LIMIT)}`));

describe('the limits of open streams', () => {
  it('are those of a pod: others may have some, and a closed one makes room', () => {
    const limits = new StreamLimits();
    const [first] = openOf(limits, POD_LIMIT);
    const refused = { reason: 'TooManyRequests', message: expect.stringContaining('the pod has 128 open streams') };
    expect(() => limits.take('uid-0')).toThrow(expect.objectContaining(refused));
    limits.take('uid-1');
    first?.[Symbol.dispose]();
    limits.take('uid-0');
    expect(() => limits.take('uid-0')).toThrow(expect.objectContaining(refused));
  });

  it('are those of the node: a closed stream of any pod makes room', () => {
    const limits = new StreamLimits();
    const [first] = openOf(limits, NODE_LIMIT);
    const refused = { reason: 'TooManyRequests', message: expect.stringContaining('the node have 1024 open streams') };
    expect(() => limits.take('another')).toThrow(expect.objectContaining(refused));
    first?.[Symbol.dispose]();
    limits.take('another');
    expect(() => limits.take('another')).toThrow(expect.objectContaining(refused));
  });
});
