import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** React Aria has its few words in 34 languages, of which the pages have two. */
const onlyOurLanguages: Plugin = {
  name: 'only-our-languages',
  enforce: 'pre',
  load(id) {
    const [, language] = /\/react-(?:aria|stately|aria-components)\/.*\/([a-z]{2}-[A-Z]{2})\.m?js$/.exec(id) ?? []
    return language === undefined || language === 'en-US' || language === 'tr-TR' ? null : 'export default {}'
  },
}

export default defineConfig({
  root: import.meta.dirname,
  // Relative to where the server says the pages are: PUBLIC_URL may have a path.
  base: './',
  plugins: [onlyOurLanguages, react()],
  build: {
    outDir: '../../dist/web/dashboard',
    emptyOutDir: true,
    manifest: true,
    target: 'es2023',
    // An asset in the script would be a data: address, which the pages' policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What counts is gzipped and measured by a test.
    chunkSizeWarningLimit: 1000,
  },
})
