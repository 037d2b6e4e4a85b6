import { errorMessage } from '@gantry/base';
import type { HealthCheck } from '@gantry/service';
import { Router } from 'express';
import type { Exchange } from '../../http/exchange.ts';
import { page, PAGE_ROUTING } from '../../http/page.ts';
import { PAGE_NOT_FOUND, sendText } from '../../http/respond.ts';

/** The checks of each endpoint, by name of the endpoint. `ping` is always included. */
export interface HealthChecks {
  readonly livez: readonly HealthCheck[];
  readonly readyz: readonly HealthCheck[];
}

interface Verdict {
  readonly name: string;
  readonly failure: string | undefined;
}

const PING: HealthCheck = { name: 'ping', check: () => undefined };

/** `/livez`, `/readyz` and `/healthz`, each with `?verbose`, `?exclude=` and one path per check. */
export function healthRoutes({ livez, readyz }: HealthChecks): Router {
  const router = Router(PAGE_ROUTING);
  const endpoints = { livez: [PING, ...livez], healthz: [PING, ...livez], readyz: [PING, ...livez, ...readyz] };
  for (const [endpoint, checks] of Object.entries(endpoints)) {
    router.all(
      `/${endpoint}{/}`,
      page((exchange) => sendAll(exchange, endpoint, checks)),
    );
    router.all(
      `/${endpoint}/:check{/}`,
      page((exchange, { check }) =>
        sendOne(
          exchange,
          checks.find(({ name }) => name === check),
        ),
      ),
    );
  }
  return router;
}

async function sendOne(exchange: Exchange, check: HealthCheck | undefined): Promise<void> {
  if (check === undefined) {
    await sendText(exchange, 404, PAGE_NOT_FOUND);
    return;
  }
  const { failure } = await run(check);
  if (failure === undefined) await sendText(exchange, 200, 'ok');
  else await sendText(exchange, 500, `internal server error: ${failure}\n`);
}

async function run({ name, check }: HealthCheck): Promise<Verdict> {
  try {
    await check();
    return { name, failure: undefined };
  } catch (error) {
    return { name, failure: errorMessage(error) };
  }
}

async function sendAll(exchange: Exchange, endpoint: string, checks: readonly HealthCheck[]): Promise<void> {
  const excluded = exchange.query.getAll('exclude');
  const verdicts = await Promise.all(checks.filter(({ name }) => !excluded.includes(name)).map(run));
  const failed = verdicts.some(({ failure }) => failure !== undefined);
  if (!failed && !exchange.query.has('verbose')) {
    await sendText(exchange, 200, 'ok');
    return;
  }
  const lines = [
    ...verdicts.map(({ name, failure }) => (failure === undefined ? `[+]${name} ok` : `[-]${name} failed: ${failure}`)),
    ...excluded.filter((name) => checks.some((check) => check.name === name)).map((name) => `[+]${name} excluded: ok`),
    `${endpoint} check ${failed ? 'failed' : 'passed'}`,
  ];
  await sendText(exchange, failed ? 500 : 200, `${lines.join('\n')}\n`);
}
