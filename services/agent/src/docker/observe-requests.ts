import type Docker from 'dockerode';
import type { Clock } from '@gantry/base';

/** Called when a request to the engine has its response, or has failed. A stream's response is its beginning. */
export type RequestObserver = (call: string, seconds: number) => void;

/** The words of the engine's paths; everything else in one is an id or a name. */
const WORDS = new Set(
  '_ping archive attach containers create events exec images info json kill logs networks pause prune rename resize start stats stop tag top unpause update version volumes wait'.split(
    ' ',
  ),
);

/** Reports every request of `docker` by method and path, without ids and names: `POST /containers/{}/start`. */
export function observeRequests(docker: Docker, clock: Clock, observe: RequestObserver): Docker {
  const { modem } = docker;
  const dial = modem.dial.bind(modem);
  modem.dial = (options, callback) => {
    const startedMs = clock.monotonicMs();
    dial(options, (error, result) => {
      observe(requestName(options.method ?? 'GET', options.path), (clock.monotonicMs() - startedMs) / 1000);
      callback?.(error, result);
    });
  };
  return docker;
}

/** A request's method and path, without ids and names. */
export function requestName(method: string, path: string): string {
  const [collection = '', ...rest] = (path.split('?')[0] ?? '').split('/').filter((part) => part !== '');
  const last = rest.at(-1);
  const name = rest.length === 0 || (rest.length === 1 && WORDS.has(rest[0] ?? '')) ? [] : ['{}'];
  const verb = last !== undefined && WORDS.has(last) ? [last] : [];
  return `${method} /${[collection, ...name, ...verb].join('/')}`;
}
