import { isCidr, isHostname, isIpv4, isIpv6, isMac } from './formats/address.ts';
import { isEmail } from './formats/email.ts';
import { isDate, isDateTime, isDuration } from './formats/time.ts';
import { isUri } from './formats/uri.ts';

const CREDIT_CARD =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

const uuid = (version: string, variant = '[0-9a-f]'): RegExp =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i');

const UUID = uuid('[0-9a-f]');
const UUID3 = uuid('3');
const UUID4 = uuid('4', '[89ab]');
const UUID5 = uuid('5', '[89ab]');

/** The formats that a custom resource's schema may ask for, each with what it takes. Others are not looked at. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  uri: isUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIpv4,
  ipv6: isIpv6,
  cidr: isCidr,
  mac: isMac,
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID3.test(text),
  uuid4: (text) => UUID4.test(text),
  uuid5: (text) => UUID5.test(text),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: (text) => isCreditCard(text.replace(/\D/g, '')),
  ssn: (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  rgbcolor: (text) => {
    const part = '\\s*(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*';
    return new RegExp(`^rgb\\((?:${part},${part},${part})\\)$`).test(text);
  },
  byte: (text) => BASE64.test(text),
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  'date-time': isDateTime,
  'k8s-short-name': (text) => text.length <= 63 && LABEL.test(text),
  'k8s-long-name': (text) => text.length <= 253 && text.split('.').every((part) => LABEL.test(part)),
};

const INTEGER_FORMATS: readonly string[] = ['int32', 'int64'];
const NUMBER_FORMATS: readonly string[] = ['float', 'double'];

/** Whether a format means something to Kubernetes where a schema asks for that type. */
export function isSupportedFormat(format: string, type = ''): boolean {
  switch (type) {
    case '':
    case 'string':
      return isStringFormat(format);
    case 'integer':
      return INTEGER_FORMATS.includes(format);
    case 'number':
      return NUMBER_FORMATS.includes(format);
    default:
      return false;
  }
}

/** Whether a format is one of strings. */
export function isStringFormat(format: string): boolean {
  return Object.hasOwn(FORMATS, format.replaceAll('-', '')) || Object.hasOwn(FORMATS, format);
}

/** Whether a text has a format; true for one that is not known. */
export function hasFormat(text: string, format: string): boolean {
  const check = Object.hasOwn(FORMATS, format) ? FORMATS[format] : FORMATS[format.replaceAll('-', '')];
  return check === undefined || check(text);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, i) => total + (i + 1) * (digit === 'X' ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, i) => total + Number(digit) * (i % 2 === 0 ? 1 : 3), 0);
  return sum % 10 === 0;
}

function isCreditCard(digits: string): boolean {
  if (!CREDIT_CARD.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, i) => {
    const value = Number(digit) * (i % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
