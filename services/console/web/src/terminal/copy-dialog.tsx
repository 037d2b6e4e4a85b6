import { type FormEvent, type ReactNode, useState } from 'react';
import { type Pod, StatusError } from '@gantry/objects';
import type { Api } from '../api/http.ts';
import type { TabProps } from '../object/use-object.ts';
import { quote } from '../objects/kubectl.ts';
import { useConsole } from '../shell/console-context.ts';
import { Dialog, RunError, useRun } from '../shell/dialog.tsx';
import { Kubectl } from '../shell/notices.tsx';
import { CHANNEL, endOf, messageFor, PROTOCOL, refusalOf, runningContainers } from './exec-channels.ts';

/** What a page keeps in memory for a copy. */
const MAX_BYTES = 256 * 1024 * 1024;
const CHUNK_BYTES = 32 * 1024;
/** Bytes that wait in the socket: more would fill the memory. */
const MAX_BUFFERED = 1024 * 1024;
const WAIT_MS = 20;
/** What is shown of the errors of a command. */
const MAX_ERRORS = 2000;

/** Copies one file out of a container or into it: with `cat`, which every image with a shell has. */
export function CopyDialog({
  namespace,
  name: pod,
  object,
  onClose,
}: TabProps & { readonly onClose: () => void }): ReactNode {
  const containers = runningContainers(object as Pod);
  const isNone = containers.length === 0;
  const { api, clock } = useConsole();
  const { run, isBusy, error } = useRun();
  const path = (container: string, command: readonly string[], hasInput: boolean) => {
    const query = new URLSearchParams({
      container,
      stdout: 'true',
      stderr: 'true',
      ...(hasInput ? { stdin: 'true' } : {}),
    });
    for (const word of command) query.append('command', word);
    return `/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query}`;
  };
  const download = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const file = String(given.get('path') ?? '');
    run(async () => {
      const bytes = await runCommand(api, path(String(given.get('container')), ['cat', '--', file], false));
      save(bytes, fileNameOf(file));
    });
  };
  const upload = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const file = given.get('file');
    if (!(file instanceof File)) return;
    const command = ['sh', '-c', `head -c ${file.size} > "$1"`, 'sh', String(given.get('path') ?? '')];
    const pauseMs = (ms: number) => new Promise<void>((resolve) => void clock.setTimer(ms, resolve));
    run(async (signal) => {
      await runCommand(api, path(String(given.get('container')), command, true), { file, pauseMs });
      if (!signal.aborted) onClose();
    });
  };
  const common = { namespace, pod, containers, isBusy: isBusy || isNone };
  return (
    <Dialog title="Copy files" onClose={onClose}>
      {isNone ? <p className="notice waiting">No container of this pod runs.</p> : null}
      <CopyForm
        {...common}
        title="Out of the container"
        button="Download"
        argumentsOf={(remote, file) => [remote, file]}
        onSubmit={download}
      />
      <CopyForm
        {...common}
        title="Into the container"
        button="Upload"
        argumentsOf={(remote) => ['FILE', remote]}
        onSubmit={upload}
      >
        <input name="file" type="file" aria-label="File" required />
      </CopyForm>
      <RunError error={error} />
    </Dialog>
  );
}

interface CopyFormProps {
  readonly namespace: string;
  readonly pod: string;
  readonly containers: readonly string[];
  readonly isBusy: boolean;
  readonly title: string;
  readonly button: string;
  /** Of `kubectl cp`, for the place in the container and the name of the file there. */
  readonly argumentsOf: (remote: string, file: string) => readonly [string, string];
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  readonly children?: ReactNode;
}

function CopyForm({
  namespace,
  pod,
  containers,
  isBusy,
  title,
  button,
  argumentsOf,
  onSubmit,
  children,
}: CopyFormProps): ReactNode {
  const [first = ''] = containers;
  const [container, setContainer] = useState(first);
  const [path, setPath] = useState('');
  const places = argumentsOf(`${pod}:${path || 'PATH'}`, fileNameOf(path))
    .map(quote)
    .join(' ');
  return (
    <form onSubmit={onSubmit}>
      <h3>{title}</h3>
      <select
        name="container"
        aria-label="Container"
        value={container}
        onChange={({ currentTarget }) => setContainer(currentTarget.value)}
      >
        {containers.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      {children}
      <input
        name="path"
        aria-label="Path in the container"
        placeholder="/path/in/the/container"
        required
        value={path}
        onChange={({ currentTarget }) => setPath(currentTarget.value)}
      />
      <button type="submit" disabled={isBusy}>
        {button}
      </button>
      <Kubectl
        command={`kubectl cp -n ${quote(namespace)} ${places}${container === '' ? '' : ` -c ${quote(container)}`}`}
      />
    </form>
  );
}

function fileNameOf(path: string): string {
  return path.split('/').at(-1) || 'file';
}

interface Input {
  readonly file: File;
  readonly pauseMs: (ms: number) => Promise<void>;
}

/** Runs a command without a terminal; resolves with its output. Throws StatusError when it fails. */
function runCommand(api: Api, path: string, input?: Input): Promise<Blob> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(api.socketUrl(path), PROTOCOL);
    socket.binaryType = 'arraybuffer';
    const output: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    const decoder = new TextDecoder();
    let hasOpened = false;
    let errors = '';
    let end = '';
    const fail = (message: string) => {
      reject(new StatusError('', message));
      socket.close();
    };
    socket.addEventListener('open', () => {
      hasOpened = true;
      if (input !== undefined) send(socket, input).catch((error: unknown) => fail(String(error)));
    });
    socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) => {
      const bytes = new Uint8Array(data);
      const content = bytes.slice(1);
      size += content.length;
      if (size > MAX_BYTES) fail(`the file has more than ${MAX_BYTES / 1024 / 1024} MiB: use kubectl cp`);
      else if (bytes[0] === CHANNEL.stdout) output.push(content);
      else if (bytes[0] === CHANNEL.stderr)
        errors = (errors + decoder.decode(content, { stream: true })).slice(0, MAX_ERRORS);
      else if (bytes[0] === CHANNEL.error) end = new TextDecoder().decode(content);
    });
    socket.addEventListener('close', ({ code }) => {
      if (end.includes('"Success"')) resolve(new Blob(output));
      else if (!hasOpened) void refusalOf(api, path, code).then(fail);
      else fail(errors.trim() || (end === '' ? `the connection has ended (${code})` : endOf(end)));
    });
  });
}

async function send(socket: WebSocket, { file, pauseMs }: Input): Promise<void> {
  for (let at = 0; at < file.size; at += CHUNK_BYTES) {
    while (socket.bufferedAmount > MAX_BUFFERED) await pauseMs(WAIT_MS);
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(messageFor(CHANNEL.stdin, new Uint8Array(await file.slice(at, at + CHUNK_BYTES).arrayBuffer())));
  }
  socket.send(messageFor(CHANNEL.close, new Uint8Array([CHANNEL.stdin])));
}

function save(bytes: Blob, name: string): void {
  const url = URL.createObjectURL(bytes);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
