import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Random } from '@gantry/base';
import { exchange } from '../forward/exchange.ts';
import { encodeUpstreamQuery, readReceived } from '../forward/upstream-packet.ts';
import { CLASS_IN, CODES, HEADER_BYTES, parts, type Query, TYPES } from '../wire/query.ts';
import { CLUSTER_DOMAIN } from '../zone/cluster-zone.ts';

const PORT = 53;
const NAME = `dns-version.${CLUSTER_DOMAIN}`;

/** Asks a server of the cluster's DNS for the version of its zone. Rejects if it does not answer before the signal is aborted. */
export async function probeServer(address: string, random: Random, signal: AbortSignal, port = PORT): Promise<void> {
  const query = versionQuery();
  const id = Math.floor(random() * 2 ** 16);
  const accept = (bytes: Buffer) => readReceived(bytes, id, query);
  const packet = encodeUpstreamQuery(query, id);
  const { code } = await exchange({ address, port }, packet, accept, { transport: 'udp', signal });
  if (code !== CODES.noError) throw new NotServingError(`${address} answers with code ${code}`);
}

function versionQuery(): Query {
  const bytes = Buffer.alloc(HEADER_BYTES + NAME.length + 6);
  parts.name.encode(NAME, bytes, HEADER_BYTES);
  const nameEnd = HEADER_BYTES + parts.name.encode.bytes;
  bytes.writeUInt16BE(TYPES.TXT, nameEnd);
  bytes.writeUInt16BE(CLASS_IN, nameEnd + 2);
  return { bytes, questionEnd: nameEnd + 4, name: NAME, type: TYPES.TXT, class: CLASS_IN, edns: undefined };
}

/** The server runs, but has not read the zone yet. */
class NotServingError extends Error {
  override readonly name = 'NotServingError';
}

/** Returns this process's address in a range, or undefined if it has none there. */
export function addressWithin(cidr: string): string | undefined {
  const [network = '', bits = '32'] = cidr.split('/');
  const range = new BlockList();
  range.addSubnet(network, Number(bits), 'ipv4');
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return addresses.find(({ family, address }) => family === 'IPv4' && range.check(address, 'ipv4'))?.address;
}
