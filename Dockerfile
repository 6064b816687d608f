# transferd as one container: `docker build -t transferd .`, then
#   docker run --memory 1g --pids-limit 256 -p 127.0.0.1:3000:3000 -v transferd:/data transferd
# stores the log, the read models and the master key in the volume. docker-compose.yml runs the image with EventStoreDB and MongoDB.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY packages/event-log/package.json packages/event-log/
COPY packages/event-log-server/package.json packages/event-log-server/
COPY packages/sqlite-node20/package.json packages/sqlite-node20/
COPY packages/transparency-log/package.json packages/transparency-log/
COPY sdks/typescript/package.json sdks/typescript/
RUN npm ci --no-audit --no-fund --ignore-scripts
COPY . .
# The image contains the files of the npm package and its dependencies, in the versions of the lockfile.
RUN npm run build \
 && node scripts/pack.js /tmp/packages \
 && mkdir /app \
 && tar -xzf /tmp/packages/transferd-[0-9]*.tgz --strip-components=1 -C /app \
 && cp package-lock.json /app/ \
 && cd /app && npm install --no-audit --no-fund --ignore-scripts --omit=dev

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    SANDBOX=off
COPY --from=build /app /app
RUN ln -s /app/dist/bin/transferd.js /usr/local/bin/transferd \
 && install --directory --owner=node --group=node --mode=0700 /data /audit-copy
USER node
# With this working directory, the default directory `./data` is /data. The image does not set the store URLs, because they would
# conflict with EVENT_STORE_URL_FILE or READ_MODEL_URL_FILE.
WORKDIR /
VOLUME /data
EXPOSE 3000
# The response is 503 while the log is unavailable or the background thread restarts. `fetch` would reject some ports.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "require('node:http').get({ host: '127.0.0.1', port: process.env.PORT, path: '/health/ready' }, (response) => process.exit(response.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# node is process 1 and handles SIGTERM: it finishes the requests in progress.
STOPSIGNAL SIGTERM
# V8 collects garbage in the thread that created it: see docs/operating/performance.md, "Garbage collection".
ENTRYPOINT ["node", "--single-threaded-gc", "/app/dist/bin/transferd.js"]
CMD ["serve"]
