# docker build -t threadkeep .
# docker run -v threadkeep:/data threadkeep keys create --account ann
# docker run -v threadkeep:/data -p 8473:8473 threadkeep
FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --locked --profile dist -p threadkeep-cli

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data threadkeep && install -d -o threadkeep -m 0700 /data
COPY --from=build /source/target/dist/threadkeep /usr/local/bin/threadkeep
USER threadkeep
VOLUME /data
EXPOSE 8473
ENV THREADKEEP_DATA=/data THREADKEEP_LISTEN=0.0.0.0:8473
HEALTHCHECK --start-period=1m CMD ["threadkeep", "store", "health"]
ENTRYPOINT ["threadkeep"]
CMD ["serve"]
