import { validateWebhookService, validateWebhookUrl } from '@gantry/apimachinery';
import { append } from '@gantry/base';
import {
  type CustomResourceConversion,
  dns1035Label,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  repeatedAt,
  required,
} from '@gantry/objects';

/** The rules on `spec.conversion`. */
export function validateConversion(conversion: CustomResourceConversion | undefined): FieldError[] {
  if (conversion === undefined) return [];
  const path = 'spec.conversion';
  const errors: FieldError[] = [];
  const { strategy = '', webhook } = conversion;
  if (strategy === '') errors.push(required(`${path}.strategy`));
  else if (strategy !== 'None' && strategy !== 'Webhook') {
    errors.push(notSupported(`${path}.strategy`, strategy, ['None', 'Webhook']));
  }
  const config = webhook?.clientConfig;
  const reviewVersions = webhook?.conversionReviewVersions ?? [];
  const at = `${path}.webhookClientConfig`;
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (config !== undefined) errors.push(forbidden(at, detail));
    if (reviewVersions.length > 0) errors.push(forbidden(`${path}.conversionReviewVersions`, detail));
    return errors;
  }
  if (config === undefined) errors.push(required(at, 'required when strategy is set to Webhook'));
  else if ((config.url === undefined) === (config.service === undefined)) {
    errors.push(required(at, 'exactly one of url or service is required'));
  } else if (config.url !== undefined) append(errors, validateWebhookUrl(config.url, `${at}.url`));
  else if (config.service !== undefined) append(errors, validateWebhookService(config.service, `${at}.service`));
  return [...errors, ...validateReviewVersions(reviewVersions, `${path}.conversionReviewVersions`)];
}

function validateReviewVersions(versions: readonly string[], path: string): FieldError[] {
  if (versions.length === 0) return [required(path)];
  const isRepeated = repeatedAt(versions);
  const errors = versions.flatMap((version, i) => {
    const at = `${path}[${i}]`;
    if (isRepeated(i)) return [invalid(at, version, 'duplicate version')];
    return dns1035Label(version).map((detail) => invalid(at, version, detail));
  });
  if (!versions.some((version) => version === 'v1' || version === 'v1beta1')) {
    errors.push(invalid(path, versions, 'must include at least one of v1, v1beta1'));
  }
  return errors;
}
