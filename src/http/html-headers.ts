type Headers = Readonly<Record<string, string>>

const policyOfAll = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'connect-src': "'self'",
  'img-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'self'",
  'require-trusted-types-for': "'script'",
  'frame-ancestors': "'none'",
}

/** Returns the headers of an HTML page. `policy` adds or replaces directives of the common content security policy. */
export function htmlHeaders(policy: Headers = {}): Headers {
  const directives = Object.entries({ ...policyOfAll, ...policy }).map(([name, sources]) => `${name} ${sources}`)
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': directives.join('; '),
    // With no-referrer a browser sends `Origin: null` with forms, which cannot be distinguished from another site's.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex, nofollow',
    'permissions-policy':
      'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), midi=(), payment=(), usb=()',
    'cross-origin-opener-policy': 'same-origin',
  }
}
