import { type Html, html } from './html.js'
import { loadAssets } from './page-assets.js'
import { type Language, languageCodes, languages } from './page-language.js'

export interface PageParts {
  readonly language: Language
  readonly title: string
  /** The relative path to the assets, such as `assets`. */
  readonly assetsAt: string
  /** The page's relative address without a query. */
  readonly self: string
  readonly body: Html
  /** Whether the page runs the payment page's script. */
  readonly script?: boolean
}

/** Returns a complete page for customers. */
export function page({ language, title, assetsAt, self, body, script = false }: PageParts): string {
  const { version } = loadAssets()
  const texts = languages[language]
  const at = `${assetsAt}/${version}`
  const head = html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow"><meta name="format-detection" content="telephone=no">
<title>${title}</title><link rel="stylesheet" href="${at}/page.css">${script ? html`<script type="module" src="${at}/page.js"></script>` : undefined}
<link rel="icon" href="${at}/icon.svg" type="image/svg+xml"></head>`
  const switches = languageCodes.map(
    (code) =>
      html`<li><a href="${self}?lang=${code}" lang="${code}" hreflang="${code}"${code === language ? html` aria-current="true"` : undefined}>${languages[code].languageName}</a></li>`,
  )
  return html`${head}
<body><nav class="languages" aria-label="${texts.language}"><ul>${switches}</ul></nav>
${body}
</body></html>
`.text
}

/** Returns a page with one message: what happened and what to do next. */
export function notice(parts: Omit<PageParts, 'body' | 'title'>, heading: string, text: string): string {
  return page({ ...parts, title: heading, body: html`<main class="card"><h1>${heading}</h1><p>${text}</p></main>` })
}
