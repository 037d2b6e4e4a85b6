import type { Pod } from '@gantry/objects';
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { allows } from '../api/access.ts';
import type { TabProps } from '../object/use-object.ts';
import { useConsole, useRules } from '../shell/console-context.ts';
import { adoptStyles } from './adopt-styles.ts';
import {
  CHANNEL,
  endOf,
  outputTo,
  PROTOCOL,
  refusalOf,
  runningContainers,
  senderTo,
  wordsOf,
} from './exec-channels.ts';

/** Bash where there is one. */
const SHELL = `sh -c 'command -v bash >/dev/null && exec bash || exec sh'`;

interface Wanted {
  readonly container: string;
  /** '' attaches to the container's own process. */
  readonly command: string;
  /** Counts starts: the same command can be started again. */
  readonly start: number;
}

/** A terminal in a container of the pod. */
export function TerminalTab({ namespace, name, object }: TabProps): ReactNode {
  const running = runningContainers(object as Pod);
  const attach = { verb: 'create', group: '', resource: 'pods', subresource: 'attach', name };
  const mayAttach = allows(useRules(namespace), attach);
  const [wanted, setWanted] = useState<Wanted>();
  const begin = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const isAttach = given.get('attach') === 'on';
    setWanted({
      container: String(given.get('container') ?? ''),
      command: isAttach ? '' : String(given.get('command') ?? ''),
      start: (wanted?.start ?? 0) + 1,
    });
  };
  return (
    <>
      <form className="filters" onSubmit={begin}>
        <select name="container" aria-label="Container">
          {running.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <input name="command" aria-label="Command" defaultValue={SHELL} spellCheck={false} />
        {mayAttach ? (
          <label>
            <input type="checkbox" name="attach" /> attach instead
          </label>
        ) : null}
        <button type="submit" className="primary" disabled={running.length === 0}>
          {wanted === undefined ? 'Start' : 'Start again'}
        </button>
      </form>
      {running.length === 0 ? <p className="notice waiting">No container of this pod runs.</p> : null}
      {wanted === undefined ? null : <Session key={wanted.start} namespace={namespace} pod={name} wanted={wanted} />}
    </>
  );
}

interface SessionProps {
  readonly namespace: string;
  readonly pod: string;
  readonly wanted: Wanted;
}

function Session({ namespace, pod, wanted }: SessionProps): ReactNode {
  const { api } = useConsole();
  const host = useRef<HTMLDivElement>(null);
  const [end, setEnd] = useState<string>();
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const query = new URLSearchParams({ container: wanted.container, stdin: 'true', stdout: 'true', tty: 'true' });
    for (const word of wordsOf(wanted.command)) query.append('command', word);
    const verb = wanted.command === '' ? 'attach' : 'exec';
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/${verb}?${query}`;
    return connect(element, new WebSocket(api.socketUrl(path), PROTOCOL), {
      refused: (code) => refusalOf(api, path, code),
      onEnd: setEnd,
    });
  }, [api, namespace, pod, wanted]);
  return (
    <>
      <div className="terminal-frame" ref={host} />
      {end === undefined ? null : (
        <p className="notice waiting" role="status">
          {end}
        </p>
      )}
    </>
  );
}

interface SessionEnd {
  /** Why the socket did not open. */
  readonly refused: (code: number) => Promise<string>;
  readonly onEnd: (why: string) => void;
}

/** Connects a terminal in `element` with a socket. Returns the end of both. */
function connect(element: HTMLElement, socket: WebSocket, { refused, onEnd }: SessionEnd): () => void {
  const terminal = new Terminal({
    fontFamily: getComputedStyle(element).fontFamily,
    fontSize: 13,
    cursorBlink: false,
    screenReaderMode: true,
    theme: themeOf(element),
    // A link in a terminal is text of the container: it opens nothing.
    linkHandler: { activate: () => {} },
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  const closeStyles = adoptStyles(document, () => terminal.open(element));
  terminal.focus();
  socket.binaryType = 'arraybuffer';
  // What is typed before the connection is there is for the command, too.
  const { send, flush } = senderTo(socket);
  const show = outputTo(terminal);
  let why = '';
  let hasOpened = false;
  socket.addEventListener('open', () => {
    hasOpened = true;
    fit.fit();
    send(CHANNEL.resize, JSON.stringify({ Width: terminal.cols, Height: terminal.rows }));
    flush();
  });
  socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) => {
    const bytes = new Uint8Array(data);
    const content = bytes.subarray(1);
    if (bytes[0] === CHANNEL.stdout || bytes[0] === CHANNEL.stderr) show(content);
    else if (bytes[0] === CHANNEL.error) why = endOf(new TextDecoder().decode(content));
  });
  socket.addEventListener('close', ({ code }) => {
    if (hasOpened) onEnd(why || `the connection has ended (${code})`);
    else void refused(code).then(onEnd);
  });
  terminal.onData((text) => send(CHANNEL.stdin, text));
  terminal.onBinary((text) =>
    send(
      CHANNEL.stdin,
      Uint8Array.from(text, (character) => character.charCodeAt(0)),
    ),
  );
  terminal.onResize(({ cols, rows }) => send(CHANNEL.resize, JSON.stringify({ Width: cols, Height: rows })));
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(element);
  return () => {
    resized.disconnect();
    socket.close();
    terminal.dispose();
    closeStyles();
  };
}

function themeOf(element: HTMLElement): { background: string; foreground: string; cursor: string } {
  const { backgroundColor, color } = getComputedStyle(element);
  return { background: backgroundColor, foreground: color, cursor: color };
}
