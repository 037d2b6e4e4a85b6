import { join } from 'node:path';
import {
  type HostCertificate,
  NOT_FOUND,
  type ProxyState,
  type Server,
  serverArguments,
  serverName,
  UNAVAILABLE,
} from './proxy-state.ts';

/** The configuration's values about the cluster and about the ports at which clients see the proxy. */
export interface Frontend {
  readonly clusterId: string;
  readonly httpPort: number;
  readonly httpsPort: number;
}

/** The ports in the container. */
const HTTP_PORT = 8080;
const HTTPS_PORT = 8443;
const ALPN = 'alpn h2,http/1.1';
const MAX_CONNECTIONS = 4000;
/** The limit for one address. It is no limit per Kubernetes user, because all clients on the host have one address. */
const MAX_CONNECTIONS_OF_SOURCE = 2000;
/** The maximum number of requests that wait or are answered at the same time. */
const MAX_REQUESTS = 6000;
/** The maximum number of requests to the Services of one namespace at the same time. */
const MAX_REQUESTS_OF_NAMESPACE = 2000;

/** Formats the files that HAProxy reads when a process starts, by path. Users' text is only in the keys of the maps. */
export function formatFiles(state: ProxyState, files: RunFiles, frontend: Frontend): ReadonlyMap<string, string> {
  const certificates = [...state.certificates];
  return new Map([
    [files.configuration, formatConfiguration(state, files, frontend)],
    [files.exact, formatMap(state.exact)],
    [files.prefix, formatMap(state.prefix)],
    [files.certificateList, certificates.map((entry) => `${certificateLine(files, entry)}\n`).join('')],
    ...certificates.map(([name, { pem }]) => [files.certificate(name), pem] as const),
  ]);
}

/** Returns a line of the certificate list: the file and its hosts. */
export function certificateLine(files: RunFiles, [name, { hosts }]: readonly [string, HostCertificate]): string {
  return `${files.certificate(name)} [${ALPN}] ${hosts.join(' ')}`;
}

function formatMap(routes: ReadonlyMap<string, string>): string {
  return [...routes].map(([key, backend]) => `${key} ${backend}\n`).join('');
}

function formatConfiguration(state: ProxyState, files: RunFiles, frontend: Frontend): string {
  const slots = Array.from({ length: state.slots }, (_, index) => `b${index}`);
  const backends = [UNAVAILABLE, ...slots].map((name) => formatBackend(name, state.servers.get(name)));
  return [GLOBAL(files), DEFAULTS, COUNTS, formatFrontend(files, frontend), ...backends].join('\n');
}

function formatBackend(name: string, servers: ReadonlyMap<string, Server> = new Map()): string {
  const lines = [...servers.values()].map((server) => `  server ${serverName(server)} ${serverArguments(server)}\n`);
  // The balancing algorithm must allow adding servers at run time.
  return `backend ${name}\n  balance leastconn\n${lines.join('')}`;
}

const GLOBAL = ({ socket }: RunFiles): string => `global
  stats socket ${socket} mode 600 level admin
  stats timeout 30s
  # What every engine gives a container. Each connection of a client has a descriptor, and so has each request, of which a connection of
  # HTTP/2 has many at a time: ${MAX_CONNECTIONS} and ${MAX_REQUESTS}, with as many again for connections to servers that are kept.
  ulimit-n 20000
  maxconn ${MAX_CONNECTIONS}
  tune.h2.fe.max-concurrent-streams 32
  # 256 MiB of buffers: a request that waits keeps one, so that it can be sent again.
  tune.buffers.limit 8000
  nbthread 2
  # One command of the socket has a certificate with its chain.
  tune.bufsize 32768
  # Connections that an earlier process keeps, such as WebSockets, end then.
  hard-stop-after 1h
  ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets
`;

const DEFAULTS = `defaults
  mode http
  timeout connect 2s
  timeout queue 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
  # A client must send the whole head of a request in this time.
  timeout http-request 10s
  timeout http-keep-alive 60s
  timeout client-fin 10s
  # An endpoint that does not take a connection is left for another one.
  retries 3
  option redispatch 1
  # An endpoint that closes a kept connection just when a request comes has not seen the request.
  retry-on conn-failure empty-response
  http-reuse safe
`;

/** Counters of current connections by address, and of current requests by namespace and in total. No route leads to these backends. */
const COUNTS = `backend sources
  stick-table type ip size 16k expire 1m store conn_cur

backend requests
  stick-table type string len 16 size 16k expire 1m store conn_cur
`;

/**
 * Routes are looked up from the most specific host to the least specific one. For each host the whole path comes first, then its longest
 * prefix. Only the proxy itself gives information about the client. All such information in a request is removed, in every spelling that
 * a server may read as the same header. The header names that `Connection` asks the next server to drop are removed too.
 */
function formatFrontend(files: RunFiles, { clusterId, httpPort, httpsPort }: Frontend): string {
  const unless = 'unless { var(txn.to) -m found }';
  const lookUps = ['host', 'wildcard', 'any'].flatMap((name) => [
    `  http-request set-var(txn.to) var(txn.${name}),map_str(${files.exact}) ${unless}`,
    `  http-request set-var(txn.to) var(txn.${name}),concat(/),map_beg(${files.prefix}) ${unless}`,
  ]);
  return `frontend ingress
  bind :${HTTP_PORT}
  bind :${HTTPS_PORT} ssl strict-sni crt-list ${files.certificateList} ${ALPN}
  tcp-request connection track-sc0 src table sources
  tcp-request connection reject if { sc0_conn_cur(sources) gt ${MAX_CONNECTIONS_OF_SOURCE} }
  http-request return status 508 content-type text/plain string "the request has come back to this proxy\\n" if { req.fhdr(via) -m sub ${clusterId}-ingress }
  http-request set-var(txn.name) req.hdr(host),host_only,lower,rtrim(.)
  http-request set-var(txn.name) str(-) unless { var(txn.name) -m reg ^[a-z0-9._-]+$ }
  http-request set-var(txn.above) var(txn.name),regsub(^[^.]*,*)
  http-request set-var-fmt(txn.host) %[var(txn.name)]%[path]
  http-request set-var-fmt(txn.wildcard) %[var(txn.above)]%[path]
  http-request set-var-fmt(txn.any) *%[path]
${lookUps.join('\n')}
  http-request set-var(txn.to) str(${NOT_FOUND}) ${unless}
  http-request return status 404 content-type text/plain string "no Ingress has this host and path\\n" if { var(txn.to) -m str ${NOT_FOUND} }
  http-request set-var(txn.tenant) var(txn.to),field(2,.)
  http-request set-var(txn.to) var(txn.to),field(1,.)
  http-request track-sc1 str(all) table requests
  http-request track-sc2 var(txn.tenant) table requests
  http-request return status 503 content-type text/plain string "too many requests are under way\\n" if { sc1_conn_cur(requests) gt ${MAX_REQUESTS} } or { sc2_conn_cur(requests) gt ${MAX_REQUESTS_OF_NAMESPACE} }
  http-request add-header Via "1.1 ${clusterId}-ingress"
  http-request del-header ^(x[-_]forwarded([-_].*)?|x[-_]real[-_]ip|x[-_]original[-_].*|forwarded)$ -m reg
  http-request set-header Connection Upgrade if { req.hdr(upgrade) -m found } { req.hdr(connection) -m sub -i upgrade }
  http-request del-header Connection unless { req.hdr(upgrade) -m found }
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Real-IP %[src]
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Port ${httpPort}
  http-request set-header X-Forwarded-Proto https if { ssl_fc }
  http-request set-header X-Forwarded-Port ${httpsPort} if { ssl_fc }
  # Only what may be done twice is sent again after it may have been received.
  http-request disable-l7-retry unless { method GET HEAD OPTIONS }
  use_backend %[var(txn.to)]
`;
}

/** Paths in the folder of a running HAProxy. */
export interface RunFiles {
  readonly configuration: string;
  readonly exact: string;
  readonly prefix: string;
  readonly certificateList: string;
  /** The socket for commands about the served state. */
  readonly socket: string;
  /** The socket for commands about the process. */
  readonly masterSocket: string;
  certificate(name: string): string;
}

/** Returns the paths in a folder. Creates nothing. */
export function runFilesIn(folder: string): RunFiles {
  return {
    configuration: join(folder, 'haproxy.cfg'),
    exact: join(folder, 'exact.map'),
    prefix: join(folder, 'prefix.map'),
    certificateList: join(folder, 'certificates.list'),
    socket: join(folder, 'haproxy.sock'),
    masterSocket: join(folder, 'master.sock'),
    certificate: (name) => join(folder, `${name}.pem`),
  };
}
