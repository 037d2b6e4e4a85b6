import { describe, expect, it } from 'vitest';
import { Connections } from './connections.ts';

const LIMITS = { perOwner: 2, total: 5, anonymousIdleMs: 10, idleMs: 100 };

function start(limits = LIMITS) {
  const time = { now: 0 };
  const connections = new Connections(limits, { monotonicMs: () => time.now });
  const closed: string[] = [];
  const open = (name: string, address = 'a') => {
    const connection = connections.open(address, () => {
      closed.push(name);
      connection?.closed();
    });
    return connection;
  };
  return { connections, closed, open, time };
}

describe('open connections', () => {
  it('close the longest idle one of an address above its limit, and of no other address', () => {
    const { connections, closed, open } = start();
    open('other', 'b');
    open('first')?.begin();
    open('second');
    expect(open('third')).toBeDefined();
    expect(closed).toEqual(['second']);
    expect(connections.size).toBe(3);
  });

  it('are refused when all of their address are in use', () => {
    const { connections, open } = start();
    open('first')?.begin();
    open('second')?.begin();
    expect(open('third')).toBeUndefined();
    expect(open('other', 'b')).toBeDefined();
    expect(connections.refused).toBe(1);
  });

  it('count for their user once that is known, whatever their address', () => {
    const { closed, open } = start();
    open('first')?.belongsTo('alice');
    open('second', 'b')?.belongsTo('alice');
    open('third', 'c')?.belongsTo('alice');
    expect(closed).toEqual(['first']);
    expect(open('fourth')).toBeDefined();
    expect(open('fifth')).toBeDefined();
    expect(closed).toEqual(['first']);
  });

  it('have their address as the source of what they begin, and their user once that is known', () => {
    const { open } = start();
    const connection = open('first', 'b');
    expect(connection?.source).toBe('address:b');
    connection?.belongsTo('alice');
    expect(connection?.source).toBe('user:alice');
    connection?.closed();
    expect(connection?.source).toBe('user:alice');
  });

  it('close one of the largest owner when the server is full', () => {
    const { closed, open } = start({ ...LIMITS, perOwner: 4 });
    open('a1');
    open('a2');
    open('a3');
    open('b1', 'b');
    open('c1', 'c');
    expect(open('d1', 'd')).toBeDefined();
    expect(closed).toEqual(['a1']);
  });

  it('are closed when they are idle for too long, sooner without a user', () => {
    const { connections, closed, open, time } = start();
    open('anonymous');
    open('known')?.belongsTo('alice');
    const busy = open('busy');
    busy?.begin();
    time.now = 10;
    connections.sweep();
    expect(closed).toEqual(['anonymous']);
    time.now = 100;
    busy?.end();
    connections.sweep();
    expect(closed).toEqual(['anonymous', 'known']);
    time.now = 110;
    connections.sweep();
    expect(closed).toEqual(['anonymous', 'known', 'busy']);
    expect(connections.size).toBe(0);
  });
});
