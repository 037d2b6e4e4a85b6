import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { defineProbeType, dialError, failure, portNumber, SUCCESS } from './probe-type.ts';

/** Requests a URL over HTTP or HTTPS: a status from 200 to 399 is success. Certificates are not verified, as in Kubernetes. */
export const httpGetProbe = defineProbeType('httpGet', (action, { container, address }, signal) => {
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const path = action.path === undefined || action.path === '' ? '/' : action.path;
  const port = portNumber(action.port, container);
  const url = `${scheme}://${action.host ?? address}:${port}${path.startsWith('/') ? path : `/${path}`}`;
  const headers: Record<string, string> = { 'User-Agent': 'kube-probe/1.36', Accept: '*/*', Connection: 'close' };
  for (const { name, value } of action.httpHeaders ?? []) headers[name] = value;
  return new Promise((resolve) => {
    const options = { signal, headers, agent: false, ...(scheme === 'https' ? { rejectUnauthorized: false } : {}) };
    const call = (scheme === 'https' ? httpsRequest : httpRequest)(url, options, (response) => {
      const code = response.statusCode ?? 0;
      response.destroy();
      resolve(code >= 200 && code < 400 ? SUCCESS : failure(`HTTP probe failed with statuscode: ${code}`));
    });
    call.on('error', (error) => {
      const why = signal.aborted
        ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        : dialError(error, action.host ?? address, port);
      resolve(failure(`Get "${url}": ${why}`));
    });
    call.end();
  });
});
