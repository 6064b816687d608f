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

/** Of every page that the service shows. `policy`: directives of the content security policy besides, or instead of, those of all. */
export function htmlHeaders(policy: Headers = {}): Headers {
  const directives = Object.entries({ ...policyOfAll, ...policy }).map(([name, sources]) => `${name} ${sources}`)
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': directives.join('; '),
    // Not no-referrer: with that a browser sends `Origin: null` with forms, which could not be told from another site's.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex, nofollow',
    'permissions-policy':
      'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), midi=(), payment=(), usb=()',
    'cross-origin-opener-policy': 'same-origin',
  }
}
