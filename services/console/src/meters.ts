import type { Metrics } from '@gantry/service';
import type { Sessions } from './sessions.ts';

/** Shows sessions, sign-ins, requests and open streams in metrics. */
export function consoleMeter(metrics: Metrics, sessions: Pick<Sessions, 'size'>) {
  metrics.gauge('console_sessions', 'Users who have signed in', [], (gauge) => gauge.set(sessions.size));
  const requests = metrics.counter('console_requests_total', 'Answered requests', ['code']);
  const signIns = metrics.counter('console_sign_ins_total', 'Attempts to sign in', ['outcome']);
  let open = 0;
  metrics.gauge(
    'console_open_requests',
    'Requests, watches and other streams that the API server is serving',
    [],
    (gauge) => gauge.set(open),
  );
  return {
    onAnswer: (code: number): void => requests.inc({ code }),
    onSignIn: (outcome: 'accepted' | 'refused'): void => signIns.inc({ outcome }),
    onOpen: (change: 1 | -1): void => {
      open += change;
    },
  };
}
