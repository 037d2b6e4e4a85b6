import { AgentError } from '../../runtime/agent-error.ts';
import { httpGet, httpTargetOf } from './http-request.ts';
import { defineProbeType, dialError, failure, type ProbeOutcome, SUCCESS } from './probe-type.ts';

/** Requests a URL over HTTP or HTTPS: a status from 200 to 399 is success, with a warning for a redirect to another host. */
export const httpGetProbe = defineProbeType('httpGet', async (action, target, signal): Promise<ProbeOutcome> => {
  const where = httpTargetOf(action, target);
  try {
    const { code, body } = await httpGet(where, action, target, 'kube-probe/1.36', signal);
    if (code >= 300 && code < 400) {
      return { kind: 'success', warning: `Probe terminated redirects, Response body: ${body}` };
    }
    return code >= 200 && code < 300 ? SUCCESS : failure(`HTTP probe failed with statuscode: ${code}`);
  } catch (error) {
    if (error instanceof AgentError || !(error instanceof Error)) throw error;
    const why = signal.aborted
      ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
      : dialError(error, where.host, where.port);
    return failure(`Get "${where.url}": ${why}`);
  }
});
