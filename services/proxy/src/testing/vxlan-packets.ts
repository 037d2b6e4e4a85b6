import { must } from '@gantry/base';
import { parseIpv4 } from '@gantry/objects';

export interface InnerPacket {
  readonly source: string;
  readonly destination: string;
  readonly port: number;
  readonly text: string;
}

/** Returns the payload of a VXLAN packet with a datagram, as a hostile host could send it. */
export function vxlanPayload(vni: number, linkAddress: string, inner: InnerPacket, type = 0x0800): Buffer {
  const header = Buffer.alloc(8);
  header[0] = 0x08;
  header.writeUIntBE(vni, 4, 3);
  const ethernet = Buffer.alloc(14);
  Buffer.from(linkAddress.replaceAll(':', ''), 'hex').copy(ethernet);
  ethernet[6] = 0x02;
  ethernet.writeUInt16BE(type, 12);
  return Buffer.concat([header, ethernet, ipv4Packet(inner)]);
}

/** Returns a datagram in IPv4 without a UDP checksum. */
function ipv4Packet({ source, destination, port, text }: InnerPacket): Buffer {
  const data = Buffer.from(text);
  const packet = Buffer.alloc(28 + data.length);
  packet[0] = 0x45;
  packet.writeUInt16BE(packet.length, 2);
  packet[8] = 64;
  packet[9] = 17;
  packet.writeUInt32BE(must(parseIpv4(source), 'an address'), 12);
  packet.writeUInt32BE(must(parseIpv4(destination), 'an address'), 16);
  packet.writeUInt16BE(checksum(packet.subarray(0, 20)), 10);
  packet.writeUInt16BE(5000, 20);
  packet.writeUInt16BE(port, 22);
  packet.writeUInt16BE(8 + data.length, 24);
  data.copy(packet, 28);
  return packet;
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < header.length; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
