import { ManualClock } from '@gantry/base/testing';
import { StatusError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { LogFeed, type LogSocket } from './log-feed.ts';

const SOURCE = {
  name: 'web-1',
  path: '/api/v1/namespaces/n/pods/web-1/log',
  query: { follow: 'true', tailLines: '9' },
};
const line = (second: number, text: string) => `2026-01-01T00:00:0${second}Z ${text}\n`;

class FakeSocket extends EventTarget implements LogSocket {
  binaryType: LogSocket['binaryType'] = 'blob';
  readonly query: URLSearchParams;
  constructor(path: string) {
    super();
    this.query = new URL(path, 'http://test').searchParams;
  }
  send(bytes: Uint8Array): void {
    this.dispatchEvent(new MessageEvent('message', { data: bytes }));
  }
  text(text: string): void {
    this.send(new TextEncoder().encode(text));
  }
  end(code: number): void {
    this.dispatchEvent(new CloseEvent('close', { code }));
  }
  close(): void {
    this.end(1000);
  }
}

function start(explain: () => Promise<StatusError | undefined> = async () => undefined) {
  const clock = new ManualClock();
  const sockets: FakeSocket[] = [];
  const open = (path: string) => {
    const socket = new FakeSocket(path);
    sockets.push(socket);
    return socket;
  };
  const feed = new LogFeed({ open, explain, clock, random: () => 0.5, maxLines: 100, maxCharacters: 100_000 });
  const abort = new AbortController();
  const done = feed.follow(SOURCE, abort.signal);
  const next = async () => {
    await clock.advance(0);
    return sockets.shift() ?? expect.fail('no socket was opened');
  };
  const texts = async () => {
    await clock.advance(100);
    return feed.view().lines.map(({ text }) => text);
  };
  return { clock, sockets, feed, abort, done, next, texts };
}

describe('LogFeed', () => {
  it('splits messages into lines, also within a character', async () => {
    const { next, texts, done } = start();
    const socket = await next();
    expect(socket.query.get('timestamps')).toBe('true');
    const bytes = new TextEncoder().encode(line(1, 'grün') + line(2, 'end'));
    socket.send(bytes.slice(0, 24));
    socket.send(bytes.slice(24));
    expect(await texts()).toEqual(['grün', 'end']);
    socket.end(1000);
    await done;
  });

  it('shows a last line without an end', async () => {
    const { next, texts } = start();
    const socket = await next();
    socket.text(line(1, 'one').trimEnd());
    socket.end(1000);
    expect(await texts()).toEqual(['one']);
  });

  it('continues after a lost connection, without lines that it has', async () => {
    const { next, texts, clock, feed } = start();
    const first = await next();
    first.text(line(1, 'one') + line(2, 'two'));
    first.end(1006);
    await clock.advance(1000);
    expect(feed.view().notes.get('web-1')).toContain('lost');
    const second = await next();
    expect(second.query.get('sinceTime')).toBe('2026-01-01T00:00:02Z');
    expect(second.query.has('tailLines')).toBe(false);
    second.text(line(2, 'two') + line(3, 'three'));
    expect(await texts()).toEqual(['one', 'two', 'three']);
  });

  it('continues a second after each lost connection that had lines', async () => {
    const { next, clock, sockets } = start();
    for (let second = 1; second <= 6; second++) {
      const socket = await next();
      socket.text(line(second, 'more'));
      socket.end(1006);
      await clock.advance(999);
      expect(sockets).toHaveLength(0);
      await clock.advance(1);
    }
    await next();
  });

  it('continues after the last time, whatever a line without a time says', async () => {
    const { next, texts, clock } = start();
    const first = await next();
    first.text(`${line(1, 'one')}zzz: the runtime cannot read the log\n`);
    first.end(1006);
    await clock.advance(1000);
    const second = await next();
    expect(second.query.get('sinceTime')).toBe('2026-01-01T00:00:01Z');
    second.text(line(1, 'one') + line(2, 'two'));
    expect((await texts()).at(-1)).toBe('two');
  });

  it('says why there is no log, and asks again only if that may change', async () => {
    const forbidden = start(async () => new StatusError('Forbidden', 'you may not'));
    (await forbidden.next()).end(1006);
    await forbidden.done;
    await forbidden.clock.advance(100);
    expect(forbidden.feed.view().notes.get('web-1')).toBe('you may not');
    const waiting = start(async () => new StatusError('BadRequest', 'waiting to start'));
    (await waiting.next()).end(1006);
    await waiting.clock.advance(1000);
    await waiting.next();
  });

  it('ends when it is aborted', async () => {
    const { next, abort, done, sockets, clock } = start();
    await next();
    abort.abort();
    await done;
    await clock.advance(60_000);
    expect(sockets).toHaveLength(0);
  });
});
