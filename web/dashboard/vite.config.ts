import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Drops the texts of React Aria in languages that the pages do not have. It ships 34 languages. */
const onlyOurLanguages: Plugin = {
  name: 'only-our-languages',
  enforce: 'pre',
  load(id) {
    const [, language] = /\/react-(?:aria|stately|aria-components)\/.*\/([a-z]{2}-[A-Z]{2})\.m?js$/.exec(id) ?? []
    return language === undefined || language === 'en-US' || language === 'tr-TR' ? null : 'export default {}'
  },
}

/**
 * Puts each style sheet into the cascade layer of its folder, so that a page can adjust a component regardless of the order in which the
 * sheets load. Each sheet states the order of the layers, because any of them may load first.
 */
const layerOfFolder: Plugin = {
  name: 'layer-of-folder',
  enforce: 'pre',
  transform(code, id) {
    const [, folder] = /\/dashboard\/src\/(?:(components|app|pages)\/)?.*\.css$/.exec(id) ?? [undefined, null]
    if (folder === null) return null
    const order = '@layer base, components, app, pages, utilities;'
    return { code: `${order}\n${folder ? `@layer ${folder} {\n${code}\n}` : code}`, map: null }
  },
}

export default defineConfig({
  root: import.meta.dirname,
  // Relative to the base path that the server writes into the page, because PUBLIC_URL may have a path.
  base: './',
  plugins: [onlyOurLanguages, layerOfFolder, react()],
  build: {
    outDir: '../../dist/web/dashboard',
    emptyOutDir: true,
    manifest: true,
    target: 'es2023',
    // An inlined asset would be a data: URL, which the pages' policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // A test limits the gzipped size instead.
    chunkSizeWarningLimit: 1000,
  },
})
