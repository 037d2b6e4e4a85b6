import { errorMessage } from '@gantry/base';
import type { HealthCheck } from '@gantry/service';
import type { Exchange } from '../../http/exchange.ts';
import { PAGE_NOT_FOUND, sendText } from '../../http/respond.ts';

/** The checks behind each endpoint, by its name. `ping` is always among them. */
export interface HealthChecks {
  readonly livez: readonly HealthCheck[];
  readonly readyz: readonly HealthCheck[];
}

interface Verdict {
  readonly name: string;
  readonly failure: string | undefined;
}

const PING: HealthCheck = { name: 'ping', check: () => undefined };

/** Answers `/livez`, `/readyz` and `/healthz`, each with `?verbose`, `?exclude=` and one path per check; false for other paths. */
export async function handleHealth(exchange: Exchange, checks: HealthChecks): Promise<boolean> {
  const [, endpoint = '', name, ...more] = exchange.path.replace(/(.)\/$/, '$1').split('/');
  const all = checksOf(endpoint, checks);
  if (all === undefined) return false;
  if (name !== undefined) {
    const one = all.find((check) => check.name === name);
    if (one === undefined || more.length > 0) {
      await sendText(exchange, 404, PAGE_NOT_FOUND);
      return true;
    }
    const { failure } = await run(one);
    if (failure === undefined) await sendText(exchange, 200, 'ok');
    else await sendText(exchange, 500, `internal server error: ${failure}\n`);
    return true;
  }
  const excluded = exchange.query.getAll('exclude');
  const verdicts = await Promise.all(all.filter((check) => !excluded.includes(check.name)).map(run));
  await sendVerdicts(
    exchange,
    endpoint,
    verdicts,
    excluded.filter((e) => all.some((check) => check.name === e)),
  );
  return true;
}

function checksOf(endpoint: string, checks: HealthChecks): readonly HealthCheck[] | undefined {
  switch (endpoint) {
    case 'livez':
    case 'healthz':
      return [PING, ...checks.livez];
    case 'readyz':
      return [PING, ...checks.livez, ...checks.readyz];
    default:
      return undefined;
  }
}

async function run({ name, check }: HealthCheck): Promise<Verdict> {
  try {
    await check();
    return { name, failure: undefined };
  } catch (error) {
    return { name, failure: errorMessage(error) };
  }
}

async function sendVerdicts(
  exchange: Exchange,
  endpoint: string,
  verdicts: readonly Verdict[],
  excluded: readonly string[],
): Promise<void> {
  const failed = verdicts.some(({ failure }) => failure !== undefined);
  if (!failed && !exchange.query.has('verbose')) {
    await sendText(exchange, 200, 'ok');
    return;
  }
  const lines = [
    ...verdicts.map(({ name, failure }) => (failure === undefined ? `[+]${name} ok` : `[-]${name} failed: ${failure}`)),
    ...excluded.map((name) => `[+]${name} excluded: ok`),
    `${endpoint} check ${failed ? 'failed' : 'passed'}`,
  ];
  await sendText(exchange, failed ? 500 : 200, `${lines.join('\n')}\n`);
}
