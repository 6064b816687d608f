export const files = import.meta.glob<Record<string, string>>('../../texts/*.tr.json', {
  eager: true,
  import: 'default',
})
