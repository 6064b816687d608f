/** The rules of merchants and their settings. */
export const merchantRules = {
  'unknown-merchant': 'Merchant not found.',
  'merchant-exists': 'This merchant already exists.',
  'api-key-unknown': 'API key not found.',
  'api-key-name-taken': 'The merchant already has a key with this name.',
  'too-many-api-keys': 'A merchant can have at most {most} keys.',
  'logo-invalid': 'A logo must be a PNG, JPEG or WebP image with at most {most} pixels per side.',
  'origin-invalid':
    '{field} must contain only origins such as https://shop.example.com, in lower case and without a path.',
  'ip-range-invalid': '{range} is not an IP address or CIDR range.',
  'method-not-manual': '{method} is not a manual payment method of the catalogue (PAYMENT_METHODS).',
  'limits-repeated': '{field} must have one entry per scope and period.',
  'limit-empty': 'Each entry of {field} must state a number or an amount.',
  'instructions-repeated': '{field} must have one entry per payment method.',
  'instructions-length': 'The instructions for payment method {method} must have 1 to {most} characters.',
  'instructions-hidden-characters':
    'The instructions for payment method {method} must not contain characters that are not displayed as they are stored, such as control, invisible or direction-changing ones.',
} as const
