import packet, { type Answer, type DecodedPacket, type RecordType } from 'dns-packet';

/** Options of a question. */
export interface Asked {
  readonly type?: RecordType | 'ANY';
  readonly id?: number;
  readonly edns?: number;
}

/** Returns a packet that asks for a name. */
export function questionPacket(name: string, { type = 'A', id = 7, edns }: Asked = {}): Buffer {
  const additionals: Answer[] =
    edns === undefined
      ? []
      : [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: edns,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ];
  return packet.encode({
    type: 'query',
    id,
    flags: packet.RECURSION_DESIRED,
    // The library's types lack ANY.
    questions: [{ type: type as RecordType, name }],
    additionals,
  });
}

export interface ReadResponse {
  readonly rcode: string;
  readonly packet: DecodedPacket;
  /** `name TYPE data` of each answer, in order. */
  readonly answers: readonly string[];
  readonly authorities: readonly string[];
  readonly additionals: readonly string[];
}

/** Formats a response as text for comparisons. */
export function readResponse(bytes: Buffer): ReadResponse {
  const decoded = packet.decode(bytes) as DecodedPacket & { readonly rcode: string };
  return {
    rcode: decoded.rcode,
    packet: decoded,
    answers: (decoded.answers ?? []).map(textOf),
    authorities: (decoded.authorities ?? []).map(textOf),
    additionals: (decoded.additionals ?? []).filter(({ type }) => type !== 'OPT').map(textOf),
  };
}

function textOf(record: Answer): string {
  const { name, type } = record;
  switch (record.type) {
    case 'SRV':
      return `${name} SRV ${record.data.priority} ${record.data.weight} ${record.data.port} ${record.data.target}`;
    case 'SOA':
      return `${name} SOA ${record.data.mname} ${record.data.rname}`;
    case 'TXT':
      return `${name} TXT ${String(record.data)}`;
    case 'OPT':
      return `${name} OPT`;
    default:
      return `${name} ${type} ${String(record.data)}`;
  }
}
