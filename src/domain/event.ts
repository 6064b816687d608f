/** A union of events of their data by type. Types and fields are a storage format: they only ever grow (docs/reference/events.md). */
export type EventsOf<Data> = {
  [Type in keyof Data & string]: { readonly type: Type; readonly data: Readonly<Data[Type]> }
}[keyof Data & string]

/** The data of one type of event. */
export type DataOf<Event extends { readonly type: string }, Type extends Event['type']> = Extract<
  Event,
  { readonly type: Type; readonly data: unknown }
>['data']
