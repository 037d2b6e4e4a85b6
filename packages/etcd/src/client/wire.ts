import type { MessageInitShape } from '@bufbuild/protobuf';
import { EtcdError } from '../etcd-error.ts';
import { type Event, Event_EventType, type KeyValue as WireKeyValue } from '../gen/kv_pb.ts';
import {
  Compare_CompareResult as Result,
  type CompareSchema,
  Compare_CompareTarget as Target,
  type RangeRequestSchema,
  type RequestOpSchema,
  type ResponseHeader,
  type ResponseOp,
  type TxnRequestSchema,
  type TxnResponse,
} from '../gen/rpc_pb.ts';
import type {
  Compare,
  KeyValue,
  Operation,
  OperationResult,
  RangeRequest,
  Transaction,
  TransactionResult,
  WatchedEvent,
} from '../ports.ts';

/** A range in etcd's form. */
export function toWireRange({ key, rangeEnd = '', revision = 0, limit = 0, fields }: RangeRequest) {
  return {
    key: Buffer.from(key),
    rangeEnd: Buffer.from(rangeEnd),
    revision: BigInt(revision),
    limit: BigInt(limit),
    keysOnly: fields === 'keys',
    countOnly: fields === 'count',
  } satisfies MessageInitShape<typeof RangeRequestSchema>;
}

/** A transaction in etcd's form, with those nested in it. */
export function toWireTransaction({
  compare,
  success,
  failure,
}: Transaction): MessageInitShape<typeof TxnRequestSchema> {
  return {
    compare: compare.map(toWireCompare),
    success: success.map(toWireOperation),
    failure: failure.map(toWireOperation),
  };
}

function toWireCompare(compare: Compare): MessageInitShape<typeof CompareSchema> {
  const key = Buffer.from(compare.key);
  const created = (value: bigint) => ({ case: 'createRevision', value }) as const;
  switch (compare.target) {
    case 'create-revision':
      return { key, result: Result.Equal, target: Target.Create, targetUnion: created(BigInt(compare.equals)) };
    case 'mod-revision': {
      const targetUnion = { case: 'modRevision', value: BigInt(compare.equals) } as const;
      return { key, result: Result.Equal, target: Target.Mod, targetUnion };
    }
    case 'value':
      return { key, result: Result.Equal, target: Target.Value, targetUnion: { case: 'value', value: compare.equals } };
    case 'exists':
      return { key, result: Result.Greater, target: Target.Create, targetUnion: created(0n) };
  }
}

function toWireOperation(operation: Operation): MessageInitShape<typeof RequestOpSchema> {
  switch (operation.kind) {
    case 'put': {
      const { key, value, lease = '0' } = operation;
      return { request: { case: 'requestPut', value: { key: Buffer.from(key), value, lease: BigInt(lease) } } };
    }
    case 'delete':
      return { request: { case: 'requestDeleteRange', value: { key: Buffer.from(operation.key) } } };
    case 'range':
      return { request: { case: 'requestRange', value: toWireRange(operation) } };
    case 'transaction':
      return { request: { case: 'requestTxn', value: toWireTransaction(operation) } };
  }
}

/** The revision that a response is from. */
export function revisionOf({ header }: { readonly header?: ResponseHeader }): number {
  return Number(header?.revision ?? 0);
}

/** A key and its value from etcd's form. */
export function fromWireKeyValue({ key, value, createRevision, modRevision, lease }: WireKeyValue): KeyValue {
  return {
    key: textOf(key),
    value,
    createRevision: Number(createRevision),
    modRevision: Number(modRevision),
    lease: lease.toString(),
  };
}

/** The result of a transaction from etcd's form. */
export function fromWireTransaction(response: TxnResponse): TransactionResult {
  const { succeeded, responses } = response;
  return { revision: revisionOf(response), succeeded, results: responses.map(fromWireOperation) };
}

function fromWireOperation({ response }: ResponseOp): OperationResult {
  switch (response.case) {
    case 'responseTxn': {
      const { succeeded, responses } = response.value;
      return { kind: 'transaction', succeeded, results: responses.map(fromWireOperation) };
    }
    case 'responseRange':
      return { kind: 'range', kvs: response.value.kvs.map(fromWireKeyValue) };
    case 'responseDeleteRange':
      return { kind: 'delete', deleted: Number(response.value.deleted) };
    case 'responsePut':
      return { kind: 'put' };
    case undefined:
      throw new EtcdError('outcome-unknown', 'a response of a kind that was not requested');
  }
}

/** One change from etcd's form. */
export function fromWireEvent({ type, kv }: Event): WatchedEvent {
  if (kv === undefined) throw new EtcdError('unavailable', 'an event without its key');
  if (type === Event_EventType.Put) return { kind: 'put', kv: fromWireKeyValue(kv) };
  return { kind: 'delete', key: textOf(kv.key), modRevision: Number(kv.modRevision) };
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
