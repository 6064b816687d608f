/** Text that is already HTML. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = string | number | Html | undefined | readonly Html[]

/** Escapes the values of a template unless they are {@link Html}. `undefined` becomes an empty text. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, next, index) => `${text}${render(parts[index - 1])}${next}`))
}

function render(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(({ text }) => text).join('')
  return escapeHtml(String(part))
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

/** Returns JSON for the page's script. `<` is escaped, so that no text can end the element. */
export function dataBlock(id: string, data: object): Html {
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  return new Html(`<script type="application/json" id="${id}">${json}</script>`)
}

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

/** Returns the headers of an HTML page. `policy` adds, replaces or, with an empty text, removes directives of the common content security policy. */
export function htmlHeaders(policy: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const directives = Object.entries({ ...policyOfAll, ...policy }).flatMap(([name, sources]) =>
    sources === '' ? [] : [`${name} ${sources}`],
  )
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
