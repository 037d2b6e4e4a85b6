import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { probeLookup } from './probe-host.ts';
import { defineProbeType, dialError, failure, portNumber, SUCCESS } from './probe-type.ts';

/** Requests a URL over HTTP or HTTPS: a status from 200 to 399 is success. Certificates are not verified, as in Kubernetes. */
export const httpGetProbe = defineProbeType('httpGet', (action, { container, ...target }, signal) => {
  const host = action.host || target.address;
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const path = action.path === undefined || action.path === '' ? '/' : action.path;
  const port = portNumber(action.port, container);
  const url = `${scheme}://${host}:${port}${path.startsWith('/') ? path : `/${path}`}`;
  const guard = host === target.address ? undefined : probeLookup(target);
  // As the request reads it: `2130706433` is 127.0.0.1 there.
  guard?.check(new URL(url).hostname.replace(/^\[|\]$/g, ''));
  const headers: Record<string, string> = { 'User-Agent': 'kube-probe/1.36', Accept: '*/*', Connection: 'close' };
  for (const { name, value } of action.httpHeaders ?? []) headers[name] = value;
  return new Promise((resolve) => {
    const options = {
      signal,
      headers,
      agent: false,
      ...(guard === undefined ? {} : { lookup: guard.lookup }),
      ...(scheme === 'https' ? { rejectUnauthorized: false } : {}),
    };
    const call = (scheme === 'https' ? httpsRequest : httpRequest)(url, options, (response) => {
      const code = response.statusCode ?? 0;
      response.destroy();
      resolve(code >= 200 && code < 400 ? SUCCESS : failure(`HTTP probe failed with statuscode: ${code}`));
    });
    call.on('error', (error) => {
      const why = signal.aborted
        ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        : dialError(error, host, port);
      resolve(failure(`Get "${url}": ${why}`));
    });
    call.end();
  });
});
