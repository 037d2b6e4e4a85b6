import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Activities, systemClock } from '@gantry/base';
import {
  createHealth,
  createLogger,
  createMetrics,
  eventLoopWatch,
  type GroupOutcome,
  httpEndpoint,
  runGroup,
} from '@gantry/service';
import { createApiServer } from './api-server.ts';
import type { ConsoleConfig } from './config.ts';
import { consoleMeter } from './meters.ts';
import { OneTimeLinks } from './one-time-links.ts';
import { createConsoleServer, serverMember } from './server.ts';
import { Sessions } from './sessions.ts';

const PORT = 8700;
const HOST = '0.0.0.0';
const SECRET_BYTES = 32;
const MAX_SESSIONS = 256;
const MAX_SESSIONS_OF_USER = 32;
/** A browser has six requests at a time, and up to 255 WebSockets. */
const MAX_REQUESTS_OF_SESSION = 300;

/** Runs the process. It has no certificate and no credential; it waits for nothing. */
export async function runConsole(config: ConsoleConfig): Promise<GroupOutcome> {
  const clock = systemClock;
  const logger = createLogger({ service: 'console', level: config.logLevel });
  const metrics = createMetrics();
  const api = createApiServer(config.server, await readFile(config.caFile));
  const newSecret = () => randomBytes(SECRET_BYTES).toString('base64url');
  const limits = {
    max: MAX_SESSIONS,
    maxOfUser: MAX_SESSIONS_OF_USER,
    maxRequests: MAX_REQUESTS_OF_SESSION,
    idleMs: config.idleMinutes * 60_000,
    lifeMs: config.sessionHours * 3_600_000,
  };
  const sessions = new Sessions(limits, { clock, newSecret });
  const links = new OneTimeLinks({ clock, newSecret });
  const stop = new AbortController();
  const meter = consoleMeter(metrics, sessions);
  const server = createConsoleServer({ ...config, ...meter, api, sessions, links, clock, logger }, stop.signal);
  const members = [
    eventLoopWatch({ clock, logger, metrics, activities: new Activities(clock) }),
    httpEndpoint({ health: createHealth({}), metrics }),
    { name: 'sessions', run: (signal: AbortSignal) => sessions.run(signal) },
    serverMember(server, { host: HOST, port: PORT }, stop),
  ];
  return await runGroup(members, { clock, logger });
}
